import { z } from 'zod'
import { type Clock, sleep } from '../../base/clock.ts'
import { type Parsed, parseAnyJson, parseJson } from '../../base/json.ts'
import { toDisplayText, truncateText } from '../../base/text.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { type AllowedHost, EgressError } from '../../security/network/destinations.ts'
import { createGuardedFetch, type GuardedFetch } from '../../security/network/guarded-fetch.ts'
import { createLocalEmbedder, localEmbeddingModel } from './local-embedder.ts'

export const embeddingProviders = ['local', 'openai-compatible', 'ollama', 'off'] as const

export interface EmbeddingSettings {
  /** `local` is the model that setup fetches; `off` leaves recall to words. */
  provider: (typeof embeddingProviders)[number]
  /** The server's name of the model; required for both kinds of server. */
  model?: string | undefined
  /** Required for `openai-compatible`; defaults to Ollama's usual one. */
  baseUrl?: string | undefined
  apiKey?: string | undefined
}

const maxQuestions = 256

/**
 * Caches the vectors of the latest questions: a turn asks the same one in several places. Callers must not change them.
 */
export function cachedQuestions(embedder: Embedder): Embedder {
  const known = new Map<string, Float32Array>()

  async function embedQuestion(text: string, signal?: AbortSignal): Promise<Float32Array[]> {
    const vector = known.get(text) ?? (await embedder.embed([text], 'question', signal))[0]
    if (!vector) return []
    // Moves it to the end of the map: the oldest is evicted.
    known.delete(text)
    known.set(text, vector)
    for (const oldest of known.keys()) {
      if (known.size <= maxQuestions) break
      known.delete(oldest)
    }
    return [vector]
  }

  return {
    model: embedder.model,
    get dimensions() {
      return embedder.dimensions
    },
    async embed(texts, use, signal) {
      if (use === 'memory') return embedder.embed(texts, use, signal)
      return (await Promise.all(texts.map((text) => embedQuestion(text, signal)))).flat()
    },
    close: () => embedder.close(),
  }
}

interface EmbeddingWire {
  /** The prefix of the model's name in the id of its vectors. */
  readonly provider: string
  readonly path: string
  body(model: string, texts: readonly string[]): object
  /** One vector per text, in order. Never throws: the response is untrusted. */
  read(answer: string, count: number): Parsed<number[][]>
}

function checkCount(vectors: number[][], count: number): Parsed<number[][]> {
  if (vectors.length === count) return { ok: true, value: vectors }
  return { ok: false, message: `${vectors.length} vectors for ${count} texts` }
}

const answerSchema = z.object({ embeddings: z.array(z.array(z.number()).min(1)) })

export const ollamaWire: EmbeddingWire = {
  provider: 'ollama',
  path: '/api/embed',
  body: (model, texts) => ({ model, input: texts, truncate: true }),
  read(answer, count) {
    const parsed = parseJson(answer, answerSchema)
    return parsed.ok ? checkCount(parsed.value.embeddings, count) : parsed
  },
}

const openaiAnswerSchema = z.object({
  data: z.array(z.object({ index: z.int().nonnegative(), embedding: z.array(z.number()).min(1) })),
})

/** `POST /embeddings` as in OpenAI's API and most servers. */
export const openaiWire: EmbeddingWire = {
  provider: 'openai-compatible',
  path: '/embeddings',
  body: (model, texts) => ({ model, input: texts, encoding_format: 'float' }),
  read(answer, count) {
    const parsed = parseJson(answer, openaiAnswerSchema)
    if (!parsed.ok) return parsed
    // Sent in any order; each has the index of its text.
    const byIndex = new Map(parsed.value.data.map(({ index, embedding }) => [index, embedding]))
    const vectors = Array.from({ length: count }, (_, index) => byIndex.get(index) ?? [])
    const missing = vectors.findIndex((vector) => vector.length === 0)
    if (missing !== -1) return { ok: false, message: `no vector for text ${missing}` }
    return checkCount(vectors, parsed.value.data.length)
  },
}

/** The same direction, with length one. A copy; zeros stay zeros. */
export function toUnitVector(vector: ArrayLike<number>): Float32Array {
  const numbers = Float64Array.from(vector)
  // Scaled to at most one first: the square of a very large or small number overflows or underflows.
  const furthest = numbers.reduce((most, number) => Math.max(most, Math.abs(number)), 0)
  const scaled = furthest === 0 ? numbers : numbers.map((number) => number / furthest)
  const length = Math.sqrt(scaled.reduce((sum, number) => sum + number * number, 0))
  return Float32Array.from(scaled, (number) => (length === 0 ? 0 : number / length))
}

type PostOutcome =
  | { ok: true; text: string }
  /** `status` is null without a response. `words` are the server's message, sanitized and without the key. */
  | { ok: false; status: number | null; words: string; isTransient: boolean }

type Failure = Extract<PostOutcome, { ok: false }>

const firstDelayMs = 500
const maxDelayMs = 30_000
const maxWordsLength = 200
const transientStatuses = new Set([408, 409, 425, 429])

/** The cause behind "fetch failed". */
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
  return truncateText(toDisplayText(withoutKey).trim(), maxWordsLength) || 'no reason given'
}

const maxTexts = 64
/** The limit of the largest models; a smaller limit is detected by the rejection. */
const maxTextLength = 8_000
const shortestText = 200
/** A user waits for a question, and words work without it; a memory can wait. */
const attempts: Record<EmbeddingUse, number> = { question: 1, memory: 4 }

/** A model behind a configured server. Takes over the fetch, which is closed with it. */
function createRemoteEmbedder(options: {
  wire: EmbeddingWire
  model: string
  baseUrl: string
  apiKey: string | undefined
  fetch: GuardedFetch
  clock: Clock
  random: () => number
  /** Removes secrets before the text is cut, because half a secret cannot be found. */
  redact?: ((text: string) => string) | undefined
}): Embedder {
  const { wire, fetch, clock, random, apiKey, redact = (text) => text } = options
  const url = options.baseUrl.replace(/\/$/, '') + wire.path
  const model = `${wire.provider}/${options.model}`
  let dimensions = 0

  async function embedTogether(texts: readonly string[], use: EmbeddingUse, signal?: AbortSignal): Promise<number[][]> {
    const outcome = await post(JSON.stringify(wire.body(options.model, texts)), use, signal)
    if (outcome.ok) {
      const vectors = wire.read(outcome.text, texts.length)
      if (vectors.ok) return vectors.value
      throw new FamiliarError('provider_error', `${model}: invalid response (${vectors.message})`)
    }
    if (!isTooLong(outcome)) throw toError(outcome)
    const [first = '', ...others] = texts
    const half = Math.ceil(texts.length / 2)
    if (others.length > 0) {
      const before = await embedTogether(texts.slice(0, half), use, signal)
      return [...before, ...(await embedTogether(texts.slice(half), use, signal))]
    }
    if (first.length <= shortestText) throw toError(outcome)
    return embedTogether([beginningOf(first, first.length / 2)], use, signal)
  }

  /** Retries while that can help. Failures are returned; only the signal's reason is thrown. */
  async function post(body: string, use: EmbeddingUse, signal?: AbortSignal): Promise<PostOutcome> {
    for (let attempt = 1; ; attempt += 1) {
      const { outcome, retryAfterMs } = await postOnce(body, signal)
      if (outcome.ok || !outcome.isTransient || isTooLong(outcome) || attempt >= attempts[use]) return outcome
      if (retryAfterMs > maxDelayMs) return outcome
      const delayMs = random() * Math.min(maxDelayMs, firstDelayMs * 2 ** (attempt - 1))
      await sleep(clock, Math.max(retryAfterMs, Math.round(delayMs)), signal)
    }
  }

  async function postOnce(body: string, signal?: AbortSignal): Promise<{ outcome: PostOutcome; retryAfterMs: number }> {
    const authorization = apiKey && { authorization: `Bearer ${apiKey}` }
    const headers = { 'content-type': 'application/json', ...authorization }
    try {
      const response = await fetch(url, { method: 'POST', headers, body, signal: signal ?? null })
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

  function checkDimensions(vectors: readonly number[][]): void {
    for (const { length } of vectors) {
      dimensions ||= length
      if (length === dimensions) continue
      throw new FamiliarError('provider_error', `${model}: vectors of ${length} numbers, after some of ${dimensions}`)
    }
  }

  function toError({ status, words }: Failure): FamiliarError {
    if (status === null) return new FamiliarError('unavailable', `${model} cannot be reached: ${words}`)
    const code = status === 429 ? 'rate_limited' : 'provider_error'
    return new FamiliarError(code, `${model}: ${words} (HTTP ${status})`)
  }

  return {
    model,
    get dimensions() {
      return dimensions
    },
    async embed(texts, use, signal) {
      const vectors: Float32Array[] = []
      for (let from = 0; from < texts.length; from += maxTexts) {
        const some = texts.slice(from, from + maxTexts).map((text) => beginningOf(redact(text), maxTextLength))
        const answered = await embedTogether(some, use, signal)
        checkDimensions(answered)
        vectors.push(...answered.map(toUnitVector))
      }
      return vectors
    },
    close: () => fetch.close(),
  }
}

/** Servers reject an empty text. */
function beginningOf(text: string, length: number): string {
  const kept = text.slice(0, length).toWellFormed()
  return kept.trim() === '' ? '.' : kept
}

const refusals = new Set([400, 422, 500])

/** Each server has its own status and message for it. */
function isTooLong({ status, words }: Failure): boolean {
  if (status === 413) return true
  return (
    refusals.has(status ?? 0) &&
    /context length|too (?:long|large)|(?:maximum|less than|exceed).{0,40}token/i.test(words)
  )
}

interface EmbedderDependencies {
  modelFolder: string
  clock: Clock
  random: () => number
  redact?: (text: string) => string
}

/** The configured model, and those that were configured before. */
export type Embedders = ReturnType<typeof createEmbedders>

export function createEmbedders(settings: EmbeddingSettings, dependencies: EmbedderDependencies) {
  const opened = new Map<string, Embedder>()
  function open(wanted: EmbeddingSettings): Embedder | undefined {
    const embedder = createEmbedder(wanted, dependencies)
    if (embedder) opened.set(embedder.model, embedder)
    return embedder
  }
  const current = open(settings)
  return {
    /** Undefined if embedding is switched off. */
    current,
    /** The same object for the same id. Undefined if these settings do not describe how to reach it. */
    byModel(model: string): Embedder | undefined {
      const known = opened.get(model)
      if (known || !current) return known
      const wanted = settingsOf(model, settings)
      return wanted && open(wanted)
    },
    async close(): Promise<void> {
      await Promise.all([...opened.values()].map((embedder) => embedder.close()))
    },
  }
}

/** Nothing is started or fetched before the first text. Undefined if it is switched off. */
export function createEmbedder(settings: EmbeddingSettings, dependencies: EmbedderDependencies): Embedder | undefined {
  const { provider, model = '', apiKey, baseUrl = 'http://127.0.0.1:11434' } = settings
  const { modelFolder, clock, random, redact } = dependencies
  if (provider === 'off') return undefined
  if (provider === 'local') return createLocalEmbedder({ folder: modelFolder, clock })
  const wire = provider === 'ollama' ? ollamaWire : openaiWire
  // 64 vectors of 4,096 numbers, as text.
  const fetch = createGuardedFetch({ allowedHosts: [hostOf(baseUrl)], maxBytes: 8_000_000, timeoutMs: 60_000, clock })
  return createRemoteEmbedder({ wire, model, baseUrl, apiKey, fetch, clock, random, redact })
}

/**
 * The settings for an id of vectors: the local model is always available, a server's other model if it is the same
 * server.
 */
function settingsOf(id: string, settings: EmbeddingSettings): EmbeddingSettings | undefined {
  if (id === localEmbeddingModel) return { provider: 'local' }
  const prefix = `${settings.provider}/`
  return id.startsWith(prefix) ? { ...settings, model: id.slice(prefix.length) } : undefined
}

/** Naming it in the config lists it. */
function hostOf(baseUrl: string): AllowedHost {
  const { hostname, port, protocol } = new URL(baseUrl)
  return { host: hostname, port: Number(port) || (protocol === 'https:' ? 443 : 80) }
}

/**
 * Converts text to a vector of one model. Vectors of different models are not comparable, so each is stored with the
 * model's id.
 *
 * The same text always gives the same vector, of length one. A text that is too long is embedded by its beginning. The
 * model's process or connection is started by the first call and released when idle.
 */
export interface Embedder {
  /** Identifies the model and its use: it changes whenever the vectors would. */
  readonly model: string
  /** Zero if only a server knows, until it has answered. */
  readonly dimensions: number
  /** In the order of the texts. Rejects with a `FamiliarError` that says what is missing and how to get it. */
  embed(texts: readonly string[], use: EmbeddingUse, signal?: AbortSignal): Promise<Float32Array[]>
  close(): Promise<void>
}

/** Some models need different input for questions and memories. */
export type EmbeddingUse = 'question' | 'memory'
