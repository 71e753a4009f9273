import { parseAnyJson } from '../base/json.ts'
import { toDisplayText, truncateText } from '../base/text.ts'
import { EgressError } from '../egress/egress-error.ts'
import type { Json } from '../protocol/json.ts'
import { ModelError, type ModelErrorCode } from './model-error.ts'
import { readRetryAfter } from './retry-after.ts'

export interface FailedCall {
  /** `provider/name`, put in front of the provider's words. */
  modelId: string
  apiKey: string | undefined
  signal: AbortSignal
  /** Whether an answer had begun to come. */
  begun: boolean
  now: number
}

const longestMessage = 400
/** Providers quote parts of a refused key; no part of one may reach a log or a chat. */
const keyLike = /\b(?:(?:sk|pk|rk|gsk|xai|key)[-_][\w*.-]{8,}|AIza[\w*-]{8,}|Bearer\s+[\w*.-]{8,})/g
const transientStatuses = new Set([408, 409, 425])
/** Names in which SDKs report a stream that broke off or made no sense. */
const brokenStreams = new Set(['AI_InvalidResponseDataError', 'AI_TypeValidationError', 'AI_JSONParseError'])

/** Whatever an SDK, a fetch or a stream threw, as the one error that callers know. */
export function toModelError(error: unknown, call: FailedCall): ModelError {
  if (error instanceof ModelError) return error
  if (call.signal.aborted) return new ModelError('aborted', 'The call was stopped', { retryable: false })
  const words = (text: string, suffix = '') => `${call.modelId}: ${cleanWords(text, call.apiKey)}${suffix}`

  const refusal = causes(error).find((cause) => cause instanceof EgressError)
  if (refusal) return new ModelError('rejected', words(refusal.message), { retryable: false })

  const { name, message, statusCode, responseHeaders, responseBody } = readFailure(error)
  if (statusCode !== undefined && statusCode >= 400) {
    const { code, retryable } = classifyStatus(statusCode)
    const text = providerWords(responseBody) ?? (message || 'no reason given')
    const retryAfterMs = readRetryAfter(responseHeaders, call.now)
    return new ModelError(code, words(text, ` (HTTP ${statusCode})`), { retryable, status: statusCode, retryAfterMs })
  }
  const network = networkWords(error)
  // Either the connection went away in the middle or what arrived could not be read.
  if (statusCode !== undefined || brokenStreams.has(name) || (call.begun && network)) {
    return new ModelError('cut', words(`the answer broke off: ${network ?? message}`), { retryable: true })
  }
  if (network) return new ModelError('unreachable', words(`cannot be reached: ${network}`), { retryable: true })
  return new ModelError('rejected', words(message || 'the call failed'), { retryable: false, cause: error })
}

/** An error that the provider sent inside a stream, where no status says what kind it is. */
export function toStreamError(error: unknown, call: FailedCall): ModelError {
  const failure = readFailure(error)
  if (call.signal.aborted || failure.statusCode !== undefined || brokenStreams.has(failure.name)) {
    return toModelError(error, call)
  }
  const statusCode = statusOfKind(`${failure.type} ${failure.code}`)
  return toModelError({ ...failure, statusCode }, call)
}

function classifyStatus(status: number): { code: ModelErrorCode; retryable: boolean } {
  if (status === 429) return { code: 'rate_limited', retryable: true }
  if (status >= 500 || transientStatuses.has(status)) return { code: 'overloaded', retryable: true }
  return { code: 'rejected', retryable: false }
}

function statusOfKind(kind: string): number {
  const numeric = /\b[45]\d\d\b/.exec(kind)?.[0]
  if (numeric) return Number(numeric)
  if (/rate_?limit|too_many|quota/i.test(kind)) return 429
  if (/invalid|bad_request|context_length|not_found|authentication|permission/i.test(kind)) return 400
  return 503
}

interface Failure {
  name: string
  message: string
  type: string
  code: string
  statusCode: number | undefined
  responseHeaders: Record<string, string> | undefined
  responseBody: string | undefined
}

/** The fields that the SDK's error classes and plain error objects share, whichever of them this is. */
function readFailure(error: unknown): Failure {
  const fields: Partial<Record<keyof Failure, unknown>> = typeof error === 'object' && error !== null ? error : {}
  const text = (value: unknown) => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')
  return {
    name: text(fields.name),
    message: text(fields.message) || (typeof error === 'string' ? error : ''),
    type: text(fields.type),
    code: text(fields.code),
    statusCode: typeof fields.statusCode === 'number' ? fields.statusCode : undefined,
    responseHeaders: fields.responseHeaders as Record<string, string> | undefined,
    responseBody: typeof fields.responseBody === 'string' ? fields.responseBody : undefined,
  }
}

/** What a body says went wrong, in any of the shapes that servers use. */
function providerWords(body: string | undefined): string | undefined {
  const parsed = parseAnyJson(body ?? '')
  if (!parsed.ok) return undefined
  const { error, message, detail } = isRecord(parsed.value) ? parsed.value : {}
  return [isRecord(error) ? error.message : error, message, detail].find(
    (text) => typeof text === 'string' && text !== '',
  ) as string | undefined
}

function isRecord(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function networkWords(error: unknown): string | undefined {
  const known = causes(error).find((cause) => typeof (cause as NodeJS.ErrnoException).code === 'string')
  if (known) return `${(known as NodeJS.ErrnoException).code} ${known.message}`.trim()
  const failed = causes(error).find((cause) => /fetch failed|terminated|socket|network/i.test(cause.message))
  return failed?.message
}

function causes(error: unknown): Error[] {
  const found: Error[] = []
  for (let current = error; current instanceof Error && !found.includes(current); current = current.cause) {
    found.push(current)
  }
  return found
}

function cleanWords(text: string, apiKey: string | undefined): string {
  const withoutKey = apiKey ? text.replaceAll(apiKey, '[key]') : text
  return truncateText(toDisplayText(withoutKey.replace(keyLike, '[key]')).trim(), longestMessage)
}
