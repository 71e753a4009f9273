import { parseAnyJson } from '../../../base/json.ts'
import { toDisplayText } from '../../../base/text.ts'
import type { Json } from '../../../protocol/json.ts'
import type { SandboxEnd } from '../../../sandbox/sandbox.ts'
import { redactJson } from '../../../secrets/redact-json.ts'
import type { Redactor } from '../../../secrets/redactor.ts'
import { isDeeperThan } from '../json-depth.ts'
import { describeByteSize } from '../manifest/byte-size.ts'
import { describeFound } from '../manifest/describe-issue.ts'
import { emptyResult, type ToolResult } from './tool-result.ts'

/** What takes secrets out. Before anything is cut: one that a limit has cut in two is found by nobody after that. */
export type OutputRedactor = Pick<Redactor, 'redact' | 'redactBeginning'>

interface Ended {
  end: SandboxEnd
  stdout: Uint8Array
  stderr: Uint8Array
  limits: { memoryBytes: number; wallMs: number; outputBytes: number }
  redactor: OutputRedactor
}

const deepest = 64
const mostErrorCharacters = 1_000

/**
 * What a tool printed to a result, without secrets. Standard output is read whatever the exit code, and only as a whole: half of a JSON is
 * none. Never throws.
 */
export function readOutput(ended: Ended): ToolResult {
  const cut = describeCut(ended)
  if (cut) return { ...emptyResult, ...cut }
  const printed = new TextDecoder().decode(ended.stdout).trim()
  if (printed === '') return failure(lastWords(ended) ?? `It printed nothing${exitNote(ended.end)}`)
  const parsed = parseAnyJson(printed)
  if (!parsed.ok) {
    const said = isFailure(ended.end) ? lastWords(ended) : undefined
    return failure(said ?? `It printed no JSON but ${describeFound(cleanText(printed, ended))}${exitNote(ended.end)}`)
  }
  if (isDeeperThan(parsed.value, deepest)) return failure('It printed JSON that is nested too deeply')
  return readValue(redactJson(ended.redactor, parsed.value), ended)
}

/** All that it wrote to standard error, for people: without secrets, escapes and what cannot be seen. */
export function readLog(ended: Pick<Ended, 'end' | 'stderr' | 'redactor'>): string {
  return cleanText(new TextDecoder().decode(ended.stderr), ended).trim()
}

/** A text that was cut off may end in the beginning of a secret. Once more after what is not seen went from its middle. */
function cleanText(text: string, { end, redactor }: Pick<Ended, 'end' | 'redactor'>): string {
  const clean = (part: string) =>
    end.kind === 'exited' ? redactor.redact(part) : redactor.redactBeginning(part).redacted
  return clean(toDisplayText(clean(text)))
}

/** What the sandbox ended says nothing itself. */
function describeCut({ end, limits }: Ended): { error: string; timedOut: boolean } | undefined {
  if (end.kind === 'timed_out') return { error: `timed out after ${limits.wallMs / 1_000} s`, timedOut: true }
  if (end.kind === 'out_of_memory') {
    const memory = describeByteSize(limits.memoryBytes)
    return { error: `It ran out of memory: it may use ${memory} (sandbox.memory in its manifest)`, timedOut: false }
  }
  if (end.kind !== 'output_too_large') return undefined
  const where = end.stream === 'stdout' ? 'standard output' : 'standard error'
  const most = describeByteSize(limits.outputBytes)
  return { error: `output too large: more than ${most} on ${where}`, timedOut: false }
}

function readValue(value: Json, ended: Ended): ToolResult {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    return { ...emptyResult, text: asText(value), notes: ['It printed no object, so all of it is taken as text.'] }
  }
  const { text, html, title, error, budget_remaining: budget, notify, _state: state, ...extra } = value
  const notes: string[] = []
  const result: ToolResult = {
    ...emptyResult,
    text: isSaid(text) ? asText(text) : null,
    html: readText('html', html, notes),
    title: readText('title', title, notes),
    error: isSaid(error) ? cutError(asText(error)) : null,
    isServiceFailure: extra.failure_class === 'external',
    budgetRemaining: readNumber(budget),
    notify: typeof notify === 'boolean' ? notify : undefined,
    state,
    extra,
    notes,
  }
  if (result.error !== null) return result
  if (isFailure(ended.end)) {
    if (result.text === null && result.html === null) {
      return { ...result, error: lastWords(ended) ?? `It failed${exitNote(ended.end)}` }
    }
    notes.push(`It ended${exitNote(ended.end)}.`)
  }
  // Tools that return fields of their own and no text say everything in them.
  if (result.text === null && result.html === null) result.text = JSON.stringify(withoutNotes(extra))
  return result
}

/** Null, nothing, false and the empty text say that there is none. */
function isSaid(value: Json | undefined): value is Json {
  return value != null && value !== false && value !== ''
}

function asText(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function readText(key: string, value: Json | undefined, notes: string[]): string | null {
  if (!isSaid(value)) return null
  if (typeof value === 'string') return value
  notes.push(`${key}: expected a text, found ${describeFound(value)}; it is left out.`)
  return null
}

function readNumber(value: Json | undefined): number | null {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : null
}

/** Keys that begin with an underscore are a tool's notes to whoever runs it. */
function withoutNotes(extra: Record<string, Json>): Record<string, Json> {
  return Object.fromEntries(Object.entries(extra).filter(([key]) => !key.startsWith('_')))
}

function isFailure(end: SandboxEnd): boolean {
  return end.kind !== 'exited' || end.code !== 0
}

function exitNote(end: SandboxEnd): string {
  if (end.kind === 'killed') return ` (ended by ${end.signal})`
  return end.kind === 'exited' && end.code !== 0 ? ` (exit code ${end.code})` : ''
}

/** The end of what it wrote to standard error: a traceback has its reason in the last lines. */
function lastWords(ended: Ended): string | undefined {
  const said = readLog(ended)
  if (said === '') return undefined
  return said.length > mostErrorCharacters ? `…${said.slice(-mostErrorCharacters).toWellFormed()}` : said
}

function cutError(error: string): string {
  return error.length > mostErrorCharacters ? `${error.slice(0, mostErrorCharacters).toWellFormed()}…` : error
}

function failure(error: string): ToolResult {
  return { ...emptyResult, error }
}
