import type { Embedder } from '../../src/memory/embedding/embedders.ts'

/** Several processes of one model share the texts: a whole data set is embedded at once here, not a line now and then. */
export function parallelEmbedder(embedders: readonly [Embedder, ...Embedder[]]): Embedder {
  const [first] = embedders
  return {
    model: first.model,
    dimensions: first.dimensions,
    async embed(texts, use, signal) {
      if (use === 'question') return first.embed(texts, use, signal)
      const share = Math.ceil(texts.length / embedders.length)
      const parts = embedders.map((embedder, index) =>
        embedder.embed(texts.slice(index * share, (index + 1) * share), use, signal),
      )
      return (await Promise.all(parts)).flat()
    },
    async close() {
      await Promise.all(embedders.map((embedder) => embedder.close()))
    },
  }
}
