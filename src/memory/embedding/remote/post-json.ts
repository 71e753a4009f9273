import { type Clock, sleep } from '../../../base/clock.ts'
import { parseAnyJson } from '../../../base/json.ts'
import { toDisplayText, truncateText } from '../../../base/text.ts'
import { EgressError } from '../../../egress/egress-error.ts'
import type { GuardedFetch } from '../../../egress/guarded-fetch.ts'

export type PostOutcome =
  | { ok: true; text: string }
  /** `status` is null where there was no answer. `words` are the server's own, made harmless, without the key. */
  | { ok: false; status: number | null; words: string; isTransient: boolean }

export interface PostOptions {
  fetch: GuardedFetch
  clock: Clock
  /** From 0 to 1. */
  random: () => number
  apiKey: string | undefined
  attempts: number
  /** A failure that no repetition mends, whatever its status says. */
  isFinal(failure: Extract<PostOutcome, { ok: false }>): boolean
  signal: AbortSignal | undefined
}

const firstDelayMs = 500
const longestDelayMs = 30_000
const longestWords = 200
const transientStatuses = new Set([408, 409, 425, 429])

/** Posts until it is answered, while that can help. What fails is told as data; only the signal's reason is thrown. */
export async function postJson(url: string, body: object, options: PostOptions): Promise<PostOutcome> {
  const { clock, random, attempts, signal } = options
  for (let attempt = 1; ; attempt += 1) {
    const { outcome, retryAfterMs } = await postOnce(url, body, options)
    if (outcome.ok || !outcome.isTransient || options.isFinal(outcome) || attempt >= attempts) return outcome
    if (retryAfterMs > longestDelayMs) return outcome
    const delayMs = random() * Math.min(longestDelayMs, firstDelayMs * 2 ** (attempt - 1))
    await sleep(clock, Math.max(retryAfterMs, Math.round(delayMs)), signal)
  }
}

async function postOnce(
  url: string,
  body: object,
  { fetch, apiKey, signal }: PostOptions,
): Promise<{ outcome: PostOutcome; retryAfterMs: number }> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) },
      body: JSON.stringify(body),
      signal: signal ?? null,
    })
    const text = await response.text()
    if (response.ok) return { outcome: { ok: true, text }, retryAfterMs: 0 }
    const isTransient = response.status >= 500 || transientStatuses.has(response.status)
    const words = cleanWords(serverWords(text) ?? response.statusText, apiKey)
    const seconds = Number(response.headers.get('retry-after') ?? 0)
    const retryAfterMs = Number.isFinite(seconds) ? Math.max(0, seconds * 1000) : 0
    return { outcome: { ok: false, status: response.status, words, isTransient }, retryAfterMs }
  } catch (cause) {
    signal?.throwIfAborted()
    const words = cleanWords(reasonOf(cause), apiKey)
    const isTransient = !(cause instanceof EgressError) || cause.code === 'timeout'
    return { outcome: { ok: false, status: null, words, isTransient }, retryAfterMs: 0 }
  }
}

/** What is behind "fetch failed". */
function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause)
  return cause.cause instanceof Error ? reasonOf(cause.cause) : cause.message || cause.name
}

function serverWords(body: string): string | undefined {
  const parsed = parseAnyJson(body)
  if (!parsed.ok || typeof parsed.value !== 'object' || parsed.value === null) return undefined
  const { error, message } = parsed.value as { error?: unknown; message?: unknown }
  const inner = typeof error === 'object' && error !== null && 'message' in error ? error.message : error
  return [inner, message].find((text) => typeof text === 'string' && text !== '') as string | undefined
}

function cleanWords(text: string, apiKey: string | undefined): string {
  const withoutKey = apiKey ? text.replaceAll(apiKey, '[key]') : text
  return truncateText(toDisplayText(withoutKey).trim(), longestWords) || 'no reason given'
}
