import { z } from 'zod'
import { isDeeperThan, isRecord, parseAnyJson, parseJson } from '../base/json.ts'
import { cutText, toDisplayText, toStorableText } from '../base/text.ts'
import type { Card, Json } from '../protocol/messages.ts'
import type { SandboxEnd, SandboxLimits, SandboxOutcome } from '../sandbox/sandbox.ts'
import { type Redactor, redactJson, redactStored } from '../security/redactor.ts'
import type { makeCard } from '../tools/cards/make-card.ts'
import type { CapabilityRun, Runnable } from './execute.ts'
import { describeByteSize, describeFound, type JsonObject } from './manifest.ts'

const emptyResult = {
  text: null as string | null,
  html: null as string | null,
  title: null as string | null,
  /** Set: it failed, and the rest counts for nothing. */
  error: null as string | null,
  /** Of a failure. `service_failed`: its cause is outside of the tool. Published tools may report that. */
  outcome: 'failed' as Failure['outcome'],
  budgetRemaining: null as number | null,
  /** Whether there is anything to tell; undefined where it leaves that to its manifest. */
  notify: undefined as boolean | undefined,
  /** The state for its next run; undefined if the tool returned none. */
  state: undefined as Json | undefined,
  /** Keys that are not of the contract. */
  extra: {} as JsonObject,
  notes: [] as string[],
}

type ReadResult = typeof emptyResult

/** Redacts secrets. Before any cut, because half a secret cannot be found later. */
export type OutputRedactor = Pick<Redactor, 'redact' | 'redactBeginning'>

interface Ended {
  end: SandboxEnd
  stdout: Uint8Array
  stderr: Uint8Array
  limits: { memoryBytes: number; wallMs: number; outputBytes: number }
  redactor: OutputRedactor
}

const deepest = 64
const maxErrorCharacters = 1_000

/**
 * The output of a tool as a result, without secrets. Standard output is read whatever the exit code, and only as a
 * whole. Never throws.
 */
export function readOutput(ended: Ended): ReadResult {
  const cut = describeCut(ended)
  if (cut) return failure(cut.error, cut.outcome)
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

export function keepEnd(text: string, most: number): string {
  return text.length > most ? `…${text.slice(-most).toWellFormed()}` : text
}

/** All that it wrote to standard error, for people: without secrets, escapes and what cannot be seen. */
export function readRunLog(ended: Pick<Ended, 'end' | 'stderr' | 'redactor'>): string {
  return cleanText(new TextDecoder().decode(ended.stderr), ended).trim()
}

/** A text that was cut off may end in the beginning of a secret. */
function cleanText(text: string, { end, redactor }: Pick<Ended, 'end' | 'redactor'>): string {
  const isWhole = end.kind === 'exited'
  return cleanTwice(text, isWhole ? redactor.redact : (part) => redactor.redactBeginning(part).redacted)
}

/** A program that the sandbox ended reports nothing itself. */
function describeCut({ end, limits }: Ended): Pick<Failure, 'error' | 'outcome'> | undefined {
  if (end.kind === 'timed_out') return { error: `timed out after ${limits.wallMs / 1_000} s`, outcome: 'timed_out' }
  if (end.kind === 'out_of_memory') {
    const memory = describeByteSize(limits.memoryBytes)
    return failed(`It ran out of memory: it may use ${memory} (sandbox.memory in its manifest)`)
  }
  if (end.kind !== 'output_too_large') return undefined
  const where = end.stream === 'stdout' ? 'standard output' : 'standard error'
  const most = describeByteSize(limits.outputBytes)
  return failed(`output too large: more than ${most} on ${where}`)
}

function readValue(value: Json, ended: Ended): ReadResult {
  if (!isRecord(value)) {
    return { ...emptyResult, text: asText(value), notes: ['It printed no object, so all of it is taken as text.'] }
  }
  const { text, html, title, error, budget_remaining: budget, notify, _state: state, ...extra } = value
  const notes: string[] = []
  const result: ReadResult = {
    ...emptyResult,
    text: isSaid(text) ? asText(text) : null,
    html: readText('html', html, notes),
    title: readText('title', title, notes),
    error: isSaid(error) ? cutError(asText(error)) : null,
    outcome: extra.failure_class === 'external' ? 'service_failed' : 'failed',
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
  // Tools that return fields of their own and no text say everything in them. An underscore marks notes to the runner.
  if (result.text === null && result.html === null) {
    const said = Object.entries(extra).filter(([key]) => !key.startsWith('_'))
    result.text = JSON.stringify(Object.fromEntries(said))
  }
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

function isFailure(end: SandboxEnd): boolean {
  return end.kind !== 'exited' || end.code !== 0
}

function exitNote(end: SandboxEnd): string {
  if (end.kind === 'killed') return ` (ended by ${end.signal})`
  return end.kind === 'exited' && end.code !== 0 ? ` (exit code ${end.code})` : ''
}

/** The end of what it wrote to standard error: a traceback has its reason in the last lines. */
function lastWords(ended: Ended): string | undefined {
  return keepEnd(readRunLog(ended), maxErrorCharacters) || undefined
}

function cutError(error: string): string {
  return error.length > maxErrorCharacters ? `${error.slice(0, maxErrorCharacters).toWellFormed()}…` : error
}

function failure(error: string, outcome: Failure['outcome'] = 'failed'): ReadResult {
  return { ...emptyResult, error, outcome }
}

const maxCharacters = 3_000
const marker = /\[(?=\s*\/?\s*TOOL\b)/gi

/**
 * The output of a tool for the model: between markers, at most 3,000 characters, with a note if it is cut. Markers in
 * the text are escaped, so that it cannot end itself or begin as another tool (TOOL-8).
 */
export function wrapOutput(name: string, text: string): string {
  return `[TOOL:${name}]\n${shorten(text.replace(marker, '&#91;'))}\n[/TOOL]`
}

function shorten(text: string): string {
  if (text.length <= maxCharacters) return text
  const note = (left: number) => `\n[… ${left} more characters]`
  const kept = cutText(text, maxCharacters - note(text.length).length)
  return kept + note(text.length - kept.length)
}

const keptCharacters = 64 * 1024
/** A secret of the greatest length, written in its longest usual form. */
const maxSecretLength = 192 * 1024
const maxErrorLines = 15
const maxTraceCharacters = 4_000

/**
 * The end of the log, without secrets and terminal codes. Only the end of a long log is read, and its first part is
 * dropped: it may be the second half of a secret, which cannot be recognized.
 */
export function cleanLog(printed: readonly Uint8Array[], redact: Redactor['redact']): string {
  const most = keptCharacters + maxSecretLength
  const ends = printed.map((bytes) => {
    const cleaned = cleanTwice(new TextDecoder().decode(bytes.subarray(-most)), redact)
    return bytes.length > most ? cleaned.slice(maxSecretLength) : cleaned
  })
  return keepEnd(ends.join(''), keptCharacters)
}

/** The last lines of a traceback: its reason stands there. Cut after secrets are out, since one may have lines of its own. */
export function cleanError(detail: string, redact: Redactor['redact']): string {
  const lines = cleanTwice(detail, redact).trimEnd().split('\n')
  const kept = lines.length > maxErrorLines ? ['…', ...lines.slice(-maxErrorLines)] : lines
  return keepEnd(kept.join('\n'), maxTraceCharacters)
}

/** Twice: a secret may have been spelled with something unseen in its middle. */
function cleanTwice(text: string, redact: Redactor['redact']): string {
  return redact(toDisplayText(redact(text)))
}

/** The reason why the sandbox ended it; undefined if it ended by itself. */
function describeEnd(end: SandboxEnd, limits: SandboxLimits): string | undefined {
  switch (end.kind) {
    case 'timed_out':
      return `It did not finish within ${limits.wallMs / 1_000} s.`
    case 'out_of_memory':
      return `It ran out of memory: it may use ${describeByteSize(limits.memoryBytes)}.`
    case 'output_too_large':
      return `It printed or returned more than ${describeByteSize(limits.outputBytes)}.`
    case 'killed':
      return `It was ended by ${end.signal}.`
    case 'exited':
      return undefined
  }
}

/** Why there is no result, as the harness saw it. */
const reportReasons: Record<Extract<HarnessReport, { ok: false }>['kind'], (detail: string) => string> = {
  exception: (detail) => `It failed with an exception:\n${detail}`,
  exit: (detail) => `It called ${detail} instead of returning a result.`,
  no_json: (detail) => `The return value of run is not JSON: ${detail}.`,
  no_run: (detail) => `${detail} has no function named run.`,
  nothing: (detail) => `run returned nothing (${detail}). It returns a text or an object.`,
  unsettled: () => 'run never finished: it waits for something that cannot come any more.',
}

const changes = z.array(z.tuple([z.string(), z.string().nullable()]))

const reportSchema = z.discriminatedUnion('ok', [
  z.object({ ok: z.literal(true), value: z.string().nullable(), storage: changes }),
  z.object({
    ok: z.literal(false),
    kind: z.enum(['exception', 'exit', 'no_json', 'no_run', 'nothing', 'unsettled']),
    detail: z.string(),
    isService: z.boolean(),
    storage: changes,
  }),
])

/**
 * The report of the harness on descriptor 3. `value` and the stored values are JSON texts, so that no number loses a
 * digit; null for a piece of code. A null in `storage` is a deletion.
 */
type HarnessReport = z.infer<typeof reportSchema>

export type StorageChanges = HarnessReport['storage']

interface ShownOptions {
  runnable: Runnable
  input: Json
  redactor: Pick<Redactor, 'redact'>
  loadPictures?: LoadPictures | undefined
}

export type LoadPictures = (addresses: readonly string[]) => Promise<ReadonlyMap<string, string>>

/** The card of a result, if the result has one. Without a loader its pictures are their descriptions. */
export async function cardOf(
  parts: Omit<Parameters<typeof makeCard>[0], 'pictures'>,
  loadPictures?: LoadPictures | undefined,
): Promise<Card | undefined> {
  const { html } = parts
  if (!html) return undefined
  // Loaded with the first card: the sanitizer is a tenth of everything that a start would load.
  const cards = await import('../tools/cards/make-card.ts')
  const hasPictures = loadPictures !== undefined && /<img\b/i.test(html)
  const pictures = hasPictures ? await loadPictures(cards.pictureAddresses(html)) : undefined
  return cards.makeCard({ ...parts, pictures })
}

type Failure = { ok: false; error: string; outcome: 'failed' | 'timed_out' | 'service_failed' }
type Success = { ok: true; changes: StorageChanges } & Pick<CapabilityRun, 'value' | 'text' | 'card'>

const maxResultBytes = 1024 ** 2

/** The result of a run, without secrets and without the log. Never throws. */
export async function readRunResult(
  ended: Pick<SandboxOutcome, 'end' | 'result'>,
  options: ShownOptions & { limits: SandboxLimits },
): Promise<Success | Failure> {
  const { redact } = options.redactor
  const cut = readCut(ended, options.limits)
  if (cut) return cut
  if (ended.result.length === 0) return failed(`It ended with ${codeOf(ended.end)} before it had a result.`)
  // The code shares a process with the harness, so a report is untrusted text.
  const report = parseJson(new TextDecoder().decode(ended.result), reportSchema)
  if (!report.ok) return failed(`Its report cannot be read: ${report.message}.`)
  if (!report.value.ok) {
    const { kind, detail, isService } = report.value
    return failed(cleanError(reportReasons[kind](detail), redact), isService ? 'service_failed' : 'failed')
  }
  const { value, storage } = report.value
  if (value === null) return { ok: true, value: null, text: '', card: null, changes: storage }
  if (Buffer.byteLength(value) > maxResultBytes) {
    return failed(`The return value of run is larger than ${describeByteSize(maxResultBytes)}.`)
  }
  const parsed = parseAnyJson(value)
  if (!parsed.ok) return failed(`The return value of run is not JSON: ${parsed.message}.`)
  if (isDeeperThan(parsed.value, deepest)) return failed('The return value of run is nested too deeply.')
  return { ok: true, ...(await shown(value, redactJson(options.redactor, parsed.value), options)), changes: storage }
}

export function readShellEnd(ended: Pick<SandboxOutcome, 'end'>, limits: SandboxLimits): { ok: true } | Failure {
  const { end } = ended
  const isGood = end.kind === 'exited' && end.code === 0
  return readCut(ended, limits) ?? (isGood ? { ok: true } : failed(`It ended with ${codeOf(end)}.`))
}

function readCut(ended: Pick<SandboxOutcome, 'end'>, limits: SandboxLimits): Failure | undefined {
  const cut = describeEnd(ended.end, limits)
  return cut === undefined ? undefined : failed(cut, ended.end.kind === 'timed_out' ? 'timed_out' : 'failed')
}

/** The words are those of the JSON text itself: a number with more digits than this program can hold keeps them there. */
async function shown(
  written: string,
  value: Json,
  options: ShownOptions,
): Promise<Pick<CapabilityRun, 'value' | 'text' | 'card'>> {
  if (typeof value === 'string') return { value, text: toStorableText(value), card: null }
  const { text, html, title } = isRecord(value) ? value : {}
  const parts = {
    html: textOrNull(html),
    title: textOrNull(title),
    manifestTitle: options.runnable.name,
    params: isRecord(options.input) ? options.input : {},
  }
  const card = await cardOf(parts, options.loadPictures)
  const words = textOrNull(text) || card?.text || redactStored(options.redactor, written)
  return { value, text: toStorableText(words), card: card ?? null }
}

function textOrNull(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null
}

function codeOf(end: SandboxEnd): string {
  return end.kind === 'exited' ? `exit code ${end.code}` : end.kind
}

function failed(error: string, outcome: Failure['outcome'] = 'failed'): Failure {
  return { ok: false, error, outcome }
}
