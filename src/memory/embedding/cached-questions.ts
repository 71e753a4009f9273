import type { Embedder } from './embedder.ts'

const mostQuestions = 256

/** Remembers the vectors of the latest questions: a turn asks the same one in several places. Callers must not change them. */
export function cachedQuestions(embedder: Embedder): Embedder {
  const known = new Map<string, Float32Array>()

  async function embedQuestion(text: string, signal?: AbortSignal): Promise<Float32Array[]> {
    const vector = known.get(text) ?? (await embedder.embed([text], 'question', signal))[0]
    if (!vector) return []
    // To the young end: the oldest falls out.
    known.delete(text)
    known.set(text, vector)
    for (const oldest of known.keys()) {
      if (known.size <= mostQuestions) break
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
