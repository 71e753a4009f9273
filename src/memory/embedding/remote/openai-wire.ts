import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import { checkCount, type EmbeddingWire } from './embedding-wire.ts'

const answerSchema = z.object({
  data: z.array(z.object({ index: z.int().nonnegative(), embedding: z.array(z.number()).min(1) })),
})

/** `POST /embeddings` as OpenAI has it, and with it most servers. */
export const openaiWire: EmbeddingWire = {
  provider: 'openai-compatible',
  path: '/embeddings',
  body: (model, texts) => ({ model, input: texts, encoding_format: 'float' }),
  read(answer, count) {
    const parsed = parseJson(answer, answerSchema)
    if (!parsed.ok) return parsed
    // Sent in any order, each says which text it belongs to.
    const byIndex = new Map(parsed.value.data.map(({ index, embedding }) => [index, embedding]))
    const vectors = Array.from({ length: count }, (_, index) => byIndex.get(index) ?? [])
    const missing = vectors.findIndex((vector) => vector.length === 0)
    if (missing !== -1) return { ok: false, message: `no vector for text ${missing}` }
    return checkCount(vectors, parsed.value.data.length)
  },
}
