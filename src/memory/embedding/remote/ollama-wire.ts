import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import { checkCount, type EmbeddingWire } from './embedding-wire.ts'

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
