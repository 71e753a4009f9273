import { parseAnyJson } from '../../../base/json.ts'
import { toStorableText } from '../../../base/text.ts'
import type { Json } from '../../../protocol/json.ts'
import type { SandboxEnd, SandboxLimits, SandboxOutcome } from '../../../sandbox/sandbox.ts'
import { redactJson, redactStored } from '../../../secrets/redact-json.ts'
import type { Redactor } from '../../../secrets/redactor.ts'
import { isDeeperThan } from '../../contract/json-depth.ts'
import { describeByteSize } from '../../contract/manifest/byte-size.ts'
import { cleanError } from './clean-output.ts'
import { describeEnd, describeReport } from './describe-failure.ts'
import type { CapabilityRun, Runnable } from './executor.ts'
import { readReport, type StorageChanges } from './harness-report.ts'

type Failure = { ok: false; error: string; outcome: 'failed' | 'timed_out' | 'service_failed' }
type Success = { ok: true; changes: StorageChanges } & Pick<CapabilityRun, 'value' | 'text' | 'card'>

const mostResultBytes = 1024 ** 2
const deepest = 64

/** What came of a run, without secrets. What was printed has no part in it. Never throws. */
export async function readResult(
  ended: Pick<SandboxOutcome, 'end' | 'result'>,
  options: { runnable: Runnable; input: Json; limits: SandboxLimits; redactor: Pick<Redactor, 'redact'> },
): Promise<Success | Failure> {
  const { redact } = options.redactor
  const cut = readCut(ended, options.limits)
  if (cut) return cut
  if (ended.result.length === 0) return failed(`It ended with ${codeOf(ended.end)} before it had a result.`)
  const report = readReport(ended.result)
  if (!report.ok) return failed(`What it reported cannot be read: ${report.message}.`)
  if (!report.value.ok) {
    const error = cleanError(describeReport(report.value), redact)
    return failed(error, report.value.isService ? 'service_failed' : 'failed')
  }
  const { value, storage } = report.value
  if (value === null) return { ok: true, value: null, text: '', card: null, changes: storage }
  if (Buffer.byteLength(value) > mostResultBytes) {
    return failed(`What run returned is larger than ${describeByteSize(mostResultBytes)}.`)
  }
  const parsed = parseAnyJson(value)
  if (!parsed.ok) return failed(`What run returned is no JSON: ${parsed.message}.`)
  if (isDeeperThan(parsed.value, deepest)) return failed('What run returned is nested too deeply.')
  return { ok: true, ...(await shown(value, redactJson(options.redactor, parsed.value), options)), changes: storage }
}

/** What a shell tells of itself is the code with which it ends. */
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
  options: { runnable: Runnable; input: Json; redactor: Pick<Redactor, 'redact'> },
): Promise<Pick<CapabilityRun, 'value' | 'text' | 'card'>> {
  if (typeof value === 'string') return { value, text: toStorableText(value), card: null }
  const { text, html, title } = isObject(value) ? value : {}
  // Few have something to look at, and what rebuilds it is a hundred files.
  const { makeCard } = html === undefined ? { makeCard: () => undefined } : await import('../../../cards/make-card.ts')
  const card = makeCard({
    html: asText(html),
    title: asText(title),
    manifestTitle: options.runnable.name,
    params: isObject(options.input) ? options.input : {},
  })
  const words = asText(text) || card?.text || redactStored(options.redactor, written)
  return { value, text: toStorableText(words), card: card ?? null }
}

function asText(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null
}

function isObject(value: Json): value is { [key: string]: Json } {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function codeOf(end: SandboxEnd): string {
  return end.kind === 'exited' ? `exit code ${end.code}` : end.kind
}

function failed(error: string, outcome: Failure['outcome'] = 'failed'): Failure {
  return { ok: false, error, outcome }
}
