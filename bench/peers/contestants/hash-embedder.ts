import { hashVector } from '../../recall-scale/hash-vector.ts'

/** An embedding that takes microseconds, in the shape that the AI SDK gives to models of that kind. */
export const hashEmbedder = {
  specificationVersion: 'v2',
  provider: 'bench',
  modelId: 'hash-projection',
  maxEmbeddingsPerCall: 1_000,
  supportsParallelCalls: true,
  doEmbed: async ({ values }: { values: string[] }) => ({
    embeddings: values.map((text) => [...hashVector(text)]),
    usage: { tokens: 0 },
  }),
}
