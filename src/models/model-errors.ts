import { readRetryAfter } from '../base/clock.ts'
import { isRecord, parseAnyJson } from '../base/json.ts'
import { causesOf, toDisplayText, truncateText } from '../base/text.ts'
import { EgressError } from '../security/network/destinations.ts'
import { ModelError, type ModelErrorCode } from './model.ts'

export interface FailedCall {
  /** `provider/name`, put before the provider's message. */
  modelId: string
  apiKey: string | undefined
  signal: AbortSignal
  /** Whether a response had started to arrive. */
  begun: boolean
}

const maxMessageLength = 400
const maxDescriptionLength = 4_096
/** Providers quote parts of a rejected key; no part of one may reach a log or a chat. */
const keyLike = /\b(?:(?:sk|pk|rk|gsk|xai|key)[-_][\w*.-]{8,}|AIza[\w*-]{8,}|Bearer\s+[\w*.-]{8,})/g
const transientStatuses = new Set([408, 409, 425])
/** How providers and servers say that a request does not fit into the window. */
const tooLong =
  /context[_ ](?:length|window|size)[_ ]?(?:is )?exceed|exceed_context_size|(?:prompt|input|request|context) (?:is )?too (?:long|large) for|prompt is too long|input is too long|input length and `max_tokens` exceed|exceeds? (?:the |this model.s |its )?(?:available |maximum |max )?context|input token count.*exceeds|maximum (?:context|prompt) length|max(?:imum)?[_ ]context[_ ]length|reduce the length of the (?:messages|prompt|input)|(?:greater|longer) than the (?:model.s )?context|context window exceeds|exceeded model token limit|token count.*exceeds the (?:limit|maximum)|too many tokens|too large for model with \d+ maximum|must be <= ?\d+.*max_new_tokens|max_new_tokens.*must be <=|request_too_large/i
const rateLimit = /per (?:minute|day|hour)|\bTPM\b|rate.?limit/i
/** How they say that a model does not support tools. */
const noTools =
  /(?:does not|doesn.t|do not) support (?:tools?|function)\b|support tool use|(?:tools?|tool calling|tool use|function call(?:ing)?|functions)[`'"]? (?:is|are) not (?:supported|enabled)|--enable-auto-tool-choice/i
/** Names under which SDKs report a broken or invalid stream. */
const brokenStreams = new Set(['AI_InvalidResponseDataError', 'AI_TypeValidationError', 'AI_JSONParseError'])

/** Converts any error of an SDK, a fetch or a stream to a ModelError. */
export function toModelError(error: unknown, call: FailedCall): ModelError {
  if (error instanceof ModelError) return error
  if (call.signal.aborted) return new ModelError('aborted', 'The call was stopped', { retryable: false })
  const words = (text: string, suffix = '') => `${call.modelId}: ${cleanWords(text, call.apiKey)}${suffix}`

  const refusal = causesOf(error).find((cause) => cause instanceof EgressError)
  if (refusal) return new ModelError('rejected', words(refusal.message), { retryable: false })

  const { name, message, type, code: kind, statusCode, responseHeaders, responseBody } = readFailure(error)
  if (statusCode !== undefined && statusCode >= 400) {
    const text = providerWords(responseBody) ?? (message || 'no reason given')
    const described = `${message} ${type} ${kind} ${responseBody?.slice(0, maxDescriptionLength) ?? ''}`
    const { code, retryable } = classifyFailure(statusCode, described)
    const retryAfterMs = readDelay(responseHeaders, Date.now())
    return new ModelError(code, words(text, ` (HTTP ${statusCode})`), { retryable, status: statusCode, retryAfterMs })
  }
  const network = networkWords(error)
  // The connection was lost in the middle, or the response could not be read.
  if (statusCode !== undefined || brokenStreams.has(name) || (call.begun && network)) {
    return new ModelError('cut', words(`the response ended early: ${network ?? message}`), { retryable: true })
  }
  if (network) return new ModelError('unreachable', words(`cannot be reached: ${network}`), { retryable: true })
  return new ModelError('rejected', words(message || 'the call failed'), { retryable: false, cause: error })
}

/** An error that the provider sent inside a stream, where no status tells its kind. */
export function toStreamError(error: unknown, call: FailedCall): ModelError {
  const failure = readFailure(error)
  if (call.signal.aborted || failure.statusCode !== undefined || brokenStreams.has(failure.name)) {
    return toModelError(error, call)
  }
  const isRequest = tooLong.test(failure.message) || noTools.test(failure.message)
  const statusCode = isRequest ? 400 : statusOfKind(`${failure.type} ${failure.code}`)
  return toModelError({ ...failure, statusCode }, call)
}

function classifyFailure(status: number, words: string): { code: ModelErrorCode; retryable: boolean } {
  // A body above a server's size limit is treated like a prompt above its window.
  const mayBeTooLong = status !== 429 && status !== 401 && status !== 403 && !rateLimit.test(words)
  if (mayBeTooLong && (status === 413 || tooLong.test(words))) return { code: 'too_long', retryable: false }
  if (status < 500 && status !== 429 && noTools.test(words)) return { code: 'no_tools', retryable: false }
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

/** The fields that the SDK's error classes and plain error objects share. */
function readFailure(error: unknown) {
  const fields = (typeof error === 'object' && error !== null ? error : {}) as { [name: string]: unknown }
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

/** The error message of a body, in any of the shapes that servers use. */
function providerWords(body: string | undefined): string | undefined {
  const parsed = parseAnyJson(body ?? '')
  if (!parsed.ok) return undefined
  const { error, message, detail } = isRecord(parsed.value) ? parsed.value : {}
  return [isRecord(error) ? error.message : error, message, detail].find(
    (text) => typeof text === 'string' && text !== '',
  ) as string | undefined
}

function networkWords(error: unknown): string | undefined {
  const known = causesOf(error).find((cause) => typeof (cause as NodeJS.ErrnoException).code === 'string')
  if (known) return `${(known as NodeJS.ErrnoException).code} ${known.message}`.trim()
  const failed = causesOf(error).find((cause) => /fetch failed|terminated|socket|network/i.test(cause.message))
  return failed?.message
}

function cleanWords(text: string, apiKey: string | undefined): string {
  const withoutKey = apiKey ? text.replaceAll(apiKey, '[key]') : text
  return truncateText(toDisplayText(withoutKey.replace(keyLike, '[key]')).trim(), maxMessageLength)
}

/** The requested delay, from `retry-after-ms` or `retry-after`. */
export function readDelay(headers: Record<string, string> | undefined, now: number): number | undefined {
  const milliseconds = headers?.['retry-after-ms']?.trim() ?? ''
  if (/^\d+(\.\d+)?$/.test(milliseconds)) return Number(milliseconds)
  return readRetryAfter(headers?.['retry-after'], now)
}
