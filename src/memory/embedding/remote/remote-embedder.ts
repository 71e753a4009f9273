import type { Clock } from '../../../base/clock.ts'
import type { GuardedFetch } from '../../../egress/guarded-fetch.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { Embedder, EmbeddingUse } from '../embedder.ts'
import { toUnitVector } from '../unit-vector.ts'
import type { EmbeddingWire } from './embedding-wire.ts'
import { type PostOutcome, postJson } from './post-json.ts'

type Failure = Extract<PostOutcome, { ok: false }>

const mostTexts = 64
/** What the largest of them read; one that reads less is found out by its refusal. */
const longestText = 8_000
const shortestText = 200
/** Somebody waits for a question, and words find something without it; a memory can wait. */
const attempts: Record<EmbeddingUse, number> = { question: 1, memory: 4 }

/** A model behind a server of the owner's choice. Takes the fetch over: it is closed with this. */
export function createRemoteEmbedder(options: {
  wire: EmbeddingWire
  model: string
  baseUrl: string
  apiKey: string | undefined
  fetch: GuardedFetch
  clock: Clock
  random: () => number
  /** Takes secrets out of what is sent: before it is cut, since half a secret is found by nobody. */
  redact?: ((text: string) => string) | undefined
}): Embedder {
  const { wire, fetch, clock, random, apiKey, redact = (text) => text } = options
  const url = options.baseUrl.replace(/\/$/, '') + wire.path
  const model = `${wire.provider}/${options.model}`
  let dimensions = 0

  async function embedTogether(texts: readonly string[], use: EmbeddingUse, signal?: AbortSignal): Promise<number[][]> {
    const outcome = await postJson(url, wire.body(options.model, texts), {
      fetch,
      clock,
      random,
      apiKey,
      attempts: attempts[use],
      isFinal: isTooLong,
      signal,
    })
    if (outcome.ok) {
      const vectors = wire.read(outcome.text, texts.length)
      if (vectors.ok) return vectors.value
      throw new FamiliarError('provider_error', `${model}: an answer that makes no sense (${vectors.message})`)
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
      for (let from = 0; from < texts.length; from += mostTexts) {
        const some = texts.slice(from, from + mostTexts).map((text) => beginningOf(redact(text), longestText))
        const answered = await embedTogether(some, use, signal)
        checkDimensions(answered)
        vectors.push(...answered.map(toUnitVector))
      }
      return vectors
    },
    close: () => fetch.close(),
  }
}

/** Servers refuse an empty text. */
function beginningOf(text: string, length: number): string {
  const kept = text.slice(0, length).toWellFormed()
  return kept.trim() === '' ? '.' : kept
}

const refusals = new Set([400, 422, 500])

/** Each server has its own status for it, and its own words. */
function isTooLong({ status, words }: Failure): boolean {
  if (status === 413) return true
  return (
    refusals.has(status ?? 0) &&
    /context length|too (?:long|large)|(?:maximum|less than|exceed).{0,40}token/i.test(words)
  )
}
