import { z } from 'zod'
import { estimateTokens } from '../../base/tokens.ts'
import { languageCode } from '../../models/speech/speech.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { type OpenAiModelReply, openAi } from '../../protocol/openai.ts'
import type { StreamReply } from '../chat-replies.ts'
import type { HttpContext, HttpDependencies } from '../dependencies.ts'
import { readBodyBytes } from '../guards.ts'
import { quotedName } from '../replies.ts'
import { handle, type Route } from '../route.ts'
import { speak, transcribe } from '../routes/channels.ts'
import { createBeginTurn } from './begin-turn.ts'
import { agentModel, embeddingModel, type OpenAiServices } from './client-list.ts'
import { createCompletionRoutes } from './completion-routes.ts'
import { createResponseRoutes } from './response-routes.ts'

/** The routes of OpenAI's API (HTTP-5). */
export function createOpenAiRoutes(
  dependencies: HttpDependencies,
  services: OpenAiServices,
  streamReply: StreamReply,
): Route[] {
  const parts = { services, beginTurn: createBeginTurn(dependencies, services), streamReply }
  return [
    ...createCompletionRoutes(dependencies, parts),
    ...createResponseRoutes(dependencies, parts),
    ...createModelRoutes(services),
    ...createEmbeddingRoutes(services),
    ...createAudioRoutes(dependencies),
  ]
}

// OpenAI's own limit.
const maxBytes = 25 * 1024 * 1024
const formats = z.enum(['json', 'text', 'verbose_json'])

/** Speech for OpenAI clients, with the same engines as the page. The model in the request is ignored. */
function createAudioRoutes({ voice }: Pick<HttpDependencies, 'voice'>): Route[] {
  const noVoice = () => new FamiliarError('unavailable', 'No voice is set up: familiar voice install')
  return [
    handle(
      openAi.transcribe,
      async ({ context, signal }) => {
        const form = await readForm(context)
        const file = form.get('file')
        if (!(file instanceof File))
          throw new FamiliarError('bad_request', 'file: is missing; send the recording itself')
        const format = formats.safeParse(form.get('response_format') ?? 'json')
        if (!format.success)
          throw new FamiliarError('bad_request', 'response_format: must be json, text or verbose_json')
        if (!voice) throw noVoice()
        const mediaType = file.type.split(';')[0] || 'audio/wav'
        const wanted = form.get('language')
        const heard = await transcribe(voice, {
          data: new Uint8Array(await file.arrayBuffer()),
          mediaType,
          language: languageCode(typeof wanted === 'string' ? wanted : null),
          signal,
        })
        if (format.data === 'text')
          return new Response(`${heard.text}\n`, { headers: { 'content-type': 'text/plain; charset=utf-8' } })
        return {
          text: heard.text,
          ...(format.data === 'verbose_json' && {
            task: 'transcribe',
            duration: heard.seconds ?? 0,
            ...(heard.language && { language: heard.language }),
          }),
        }
      },
      { maxBytes },
    ),
    handle(openAi.speak, async ({ body, signal }) => {
      if (!voice) throw noVoice()
      const able = await voice.speaker.status()
      // Clients name voices of OpenAI; an unknown voice means the default one.
      const isKnown = able.by !== null && able.voices.includes(body.voice ?? '')
      return speak(voice, { text: body.input, voice: isKnown ? (body.voice ?? null) : null, signal })
    }),
  ]
}

async function readForm(context: HttpContext): Promise<FormData> {
  const data = await readBodyBytes(context, maxBytes)
  const type = context.req.header('content-type') ?? ''
  try {
    return await new Response(Uint8Array.from(data), { headers: { 'content-type': type } }).formData()
  } catch (cause) {
    throw new FamiliarError('bad_request', 'The body is not a form (multipart/form-data).', { cause })
  }
}

const textsAtOnce = 32
/** Clients that know no other names get this model under them; the length of the vectors differs. */
const openAiNames = ['text-embedding-3-small', 'text-embedding-3-large', 'text-embedding-ada-002']

/** The embedding model of the memory, for texts of a client. They are not stored. */
function createEmbeddingRoutes({ embedder }: OpenAiServices): Route[] {
  async function embed(texts: readonly string[], signal: AbortSignal): Promise<Float32Array[]> {
    const vectors: Float32Array[] = []
    for (let start = 0; start < texts.length; start += textsAtOnce) {
      signal.throwIfAborted()
      vectors.push(...((await embedder?.embed(texts.slice(start, start + textsAtOnce), 'memory', signal)) ?? []))
    }
    return vectors
  }

  return [
    handle(openAi.embeddings, async ({ body, signal }) => {
      if (!embedder) throw new FamiliarError('unavailable', 'Embedding is switched off; see [memory.embedding].')
      if (![embeddingModel, embedder.model, ...openAiNames].includes(body.model)) {
        const names = `"${embeddingModel}" and ${JSON.stringify(embedder.model)}`
        throw new FamiliarError('not_found', `model: unknown embedding model. Known models: ${names}`)
      }
      const texts = typeof body.input === 'string' ? [body.input] : body.input
      const vectors = await embed(texts, signal)
      refuseOtherLength(body.dimensions, vectors[0]?.length)
      const tokens = texts.reduce((sum, text) => sum + estimateTokens(text), 0)
      return {
        object: 'list',
        model: body.model,
        data: vectors.map((vector, index) => ({
          object: 'embedding' as const,
          index,
          embedding: body.encoding_format === 'base64' ? toBase64(vector) : [...vector],
        })),
        usage: { prompt_tokens: tokens, total_tokens: tokens },
      } as const
    }),
  ]
}

function refuseOtherLength(wanted: number | null | undefined, given: number | undefined): void {
  if (wanted === null || wanted === undefined || wanted === given) return
  throw new FamiliarError('bad_request', `dimensions: this model has ${given}; vectors cannot be shortened`)
}

/** Every machine that this runs on is little-endian, as OpenAI's clients expect. */
function toBase64(vector: Float32Array): string {
  return Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64')
}

function createModelRoutes({ modelsOf, embedder }: OpenAiServices): Route[] {
  function names(userId: string): string[] {
    const configured = modelsOf(userId)
      .list()
      .map(({ info }) => info.id)
    return [...new Set([agentModel, ...configured, ...(embedder ? [embeddingModel, embedder.model] : [])])]
  }

  return [
    handle(openAi.models, ({ userId }) => ({ object: 'list' as const, data: names(userId).map(modelReply) })),
    handle(openAi.model, ({ userId, params: { id } }) => {
      if (names(userId).includes(id)) return modelReply(id)
      throw new FamiliarError('not_found', `There is no model ${quotedName(id)}`)
    }),
  ]
}

function modelReply(id: string): OpenAiModelReply {
  const [provider, name] = id.split('/')
  return { id, object: 'model', created: 0, owned_by: name === undefined ? agentModel : (provider ?? '') }
}
