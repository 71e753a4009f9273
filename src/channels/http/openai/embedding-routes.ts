import { estimateTokens } from '../../../base/tokens.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import {
  type OpenAiEmbeddingsReply,
  openAiEmbeddingRequestSchema,
  openAiEmbeddingsReplySchema,
} from '../../../protocol/openai-api.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'
import { embeddingModel } from './openai-model.ts'
import type { OpenAiServices } from './openai-services.ts'

const textsAtOnce = 32

/** The model that memory is searched with, for whoever has texts of their own. Nothing of them is kept. */
export function createEmbeddingRoutes({ embedder }: OpenAiServices): Route[] {
  async function embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    const vectors: Float32Array[] = []
    for (let start = 0; start < texts.length; start += textsAtOnce) {
      signal.throwIfAborted()
      vectors.push(...((await embedder?.embed(texts.slice(start, start + textsAtOnce), 'memory', signal)) ?? []))
    }
    return vectors
  }

  return [
    defineRoute({
      method: 'POST',
      path: '/v1/embeddings',
      summary: 'For OpenAI clients: texts as vectors of length one; a text that is too long by its beginning.',
      auth: 'token',
      scope: 'chat',
      body: openAiEmbeddingRequestSchema,
      reply: { status: 200, schema: openAiEmbeddingsReplySchema },
      async handle({ context, body }) {
        if (!embedder) throw new FamiliarError('unavailable', 'Embedding is switched off; see [memory.embedding].')
        if (![embeddingModel, embedder.model].includes(body.model)) {
          const names = `"${embeddingModel}" and ${JSON.stringify(embedder.model)}`
          throw new FamiliarError('not_found', `model: there is no such model for embeddings; there are ${names}`)
        }
        const texts = typeof body.input === 'string' ? [body.input] : body.input
        const vectors = await embed(texts, context.req.raw.signal)
        refuseOtherLength(body.dimensions, vectors[0]?.length)
        const tokens = texts.reduce((sum, text) => sum + estimateTokens(text), 0)
        const reply: OpenAiEmbeddingsReply = {
          object: 'list',
          model: body.model,
          data: vectors.map((vector, index) => ({
            object: 'embedding',
            index,
            embedding: body.encoding_format === 'base64' ? toBase64(vector) : [...vector],
          })),
          usage: { prompt_tokens: tokens, total_tokens: tokens },
        }
        return jsonReply(reply)
      },
    }),
  ]
}

function refuseOtherLength(wanted: number | null | undefined, given: number | undefined): void {
  if (wanted === null || wanted === undefined || wanted === given) return
  throw new FamiliarError('bad_request', `dimensions: this model gives ${given}, and vectors are not cut`)
}

/** Every machine that this runs on is little-endian, as OpenAI's clients expect. */
function toBase64(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')
}
