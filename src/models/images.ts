import { z } from 'zod'
import { parseJson } from '../base/json.ts'
import { type CostRates, costNanousd, toNanousd, worstCaseNanousd } from '../base/money.ts'
import { estimateTokens } from '../base/tokens.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Usage } from '../protocol/messages.ts'
import { ModelError } from './model.ts'
import { toModelError } from './model-errors.ts'
import { baseUrlOf, type Routes } from './models-from-config.ts'
import {
  type ModelSettings,
  modelInfo,
  type ProviderFetch,
  type ProviderSettings,
  withExtras,
} from './provider-connection.ts'

export const pictureShapes = ['square', 'landscape', 'portrait'] as const
type PictureShape = (typeof pictureShapes)[number]

export interface PictureRequest {
  prompt: string
  count: number
  /** Null: the model decides. */
  shape: PictureShape | null
}

export interface Pictures {
  pictures: Uint8Array[]
  usage: Usage
}

/** A model that makes pictures from a description. `draw` throws a ModelError; it makes no second try. */
export interface ImageModel {
  /** `provider/name`. */
  id: string
  /** It receives the descriptions. */
  origin: string
  draw(request: PictureRequest, signal: AbortSignal): Promise<Pictures>
  /** The highest cost of a request, in nano-dollars; null without a price. */
  worstCase(request: PictureRequest): number | null
  /** The cost of these pictures; null without a price. */
  costOf(drawn: Pictures): number | null
}

interface Connection {
  id: string
  baseUrl: string
  apiKey: string | undefined
  settings: ModelSettings
  fetch: ProviderFetch
  /** For a picture that the provider stores at an address of its own: without the key. */
  plainFetch: ProviderFetch
}

type Drawn = { pictures: Uint8Array[]; inputTokens?: number | undefined; outputTokens?: number | undefined }
type Draw = (connection: Connection, request: PictureRequest, signal: AbortSignal) => Promise<Drawn>

/** The models of `routes.image`: the first is used, the rest are its fallbacks. Empty without a route. */
export function createImageModels(options: {
  providers: readonly ProviderSettings[]
  routes: Routes
  fetch: ProviderFetch
}): readonly ImageModel[] {
  const { providers, routes, fetch } = options
  return [routes.image ?? []].flat().map((id) => {
    const [name = '', ...rest] = id.split('/')
    const provider = providers.find((one) => one.name === name)
    const settings = provider?.models[rest.join('/')]
    if (!provider || !settings) throw new FamiliarError('bad_request', `routes.image: there is no model "${id}"`)
    const { type, baseUrl, headers, query, body } = provider
    return createImageModel({
      id,
      draw: drawWith(provider, settings),
      connection: {
        id,
        baseUrl: type === 'offline' ? '' : baseUrlOf({ type, providerName: name, baseUrl }),
        apiKey: provider.apiKey,
        settings,
        fetch: withExtras(fetch, { headers, query, body: { ...body, ...settings.body } }),
        plainFetch: fetch,
      },
    })
  })
}

function createImageModel({ id, draw, connection }: { id: string; draw: Draw; connection: Connection }): ImageModel {
  const { costPerMtok: rates, maxTokens } = modelInfo(id, connection.settings)
  const { costPerImage } = connection.settings
  return {
    id,
    origin: URL.parse(connection.baseUrl)?.origin ?? id,
    async draw(request, signal) {
      try {
        signal.throwIfAborted()
        const { pictures, inputTokens, outputTokens } = await draw(connection, request, signal)
        if (pictures.length === 0) throw noPicture(id)
        const isCounted = inputTokens !== undefined || outputTokens !== undefined
        const counted = { inputTokens: inputTokens ?? 0, outputTokens: outputTokens ?? 0 }
        const isEstimate = costPerImage === undefined && rates !== null && !isCounted
        const estimated = { inputTokens: estimateTokens(request.prompt), outputTokens: pictures.length * maxTokens }
        const tokens = isEstimate ? { ...estimated, isEstimate: true as const } : counted
        return { pictures, usage: { ...tokens, cacheReadTokens: 0, cacheWriteTokens: 0 } }
      } catch (error) {
        throw toModelError(error, { modelId: id, apiKey: connection.apiKey, signal, begun: false })
      }
    },
    worstCase({ prompt, count }) {
      if (costPerImage !== undefined) return toNanousd(costPerImage * count)
      return rates && worstCaseNanousd(estimateTokens(prompt) * count, maxTokens * count, rates)
    },
    costOf: ({ pictures, usage }) =>
      costPerImage === undefined
        ? costNanousd(usage, rates as CostRates | null)
        : toNanousd(costPerImage * pictures.length),
  }
}

function drawWith({ type, name, baseUrl }: ProviderSettings, { body }: ModelSettings): Draw {
  if (type === 'google') return drawByGoogle
  if (type !== 'openai' && type !== 'openai-compatible') {
    return () => {
      const message = `providers of type ${type} cannot make pictures here. Use openai, openai-compatible or google`
      throw new ModelError('rejected', `${name}: ${message}.`, { retryable: false })
    }
  }
  const isOpenrouter = URL.parse(baseUrl ?? '')?.hostname === 'openrouter.ai'
  return isOpenrouter || body?.modalities !== undefined ? drawInChat : drawByOpenai
}

function noPicture(id: string): ModelError {
  const reason = 'it sent no picture. Its content filter may have refused the description'
  return new ModelError('rejected', `${id}: ${reason}.`, { retryable: false })
}

const sizes: Record<PictureShape, string> = { square: '1024x1024', landscape: '1536x1024', portrait: '1024x1536' }
const ratios = { square: '1:1', landscape: '3:2', portrait: '2:3' } as const
/** These models always send the bytes, and refuse to be asked for them. */
const sendsBytes = /^(?:chat)?gpt-image/
const oneAtATime = /^dall-e-3/

const generatedSchema = z.object({
  data: z
    .array(z.object({ b64_json: z.string().nullish(), url: z.string().nullish() }))
    .nullish()
    .transform((data) => data ?? []),
  usage: z.object({ input_tokens: z.number().nullish(), output_tokens: z.number().nullish() }).nullish(),
})

/** `POST /images/generations`, as OpenAI and many servers have it. */
async function drawByOpenai(connection: Connection, request: PictureRequest, signal: AbortSignal): Promise<Drawn> {
  const { settings, fetch } = connection
  const name = settings.model.split('/').at(-1) ?? ''
  const isSingle = oneAtATime.test(name)
  const size = request.shape && (isSingle ? sizes[request.shape].replace('1536', '1792') : sizes[request.shape])
  const perCall = isSingle ? 1 : request.count
  const drawn: Required<Drawn> = { pictures: [], inputTokens: undefined, outputTokens: undefined }
  while (drawn.pictures.length < request.count) {
    const text = await post(connection, fetch, 'images/generations', signal, {
      model: settings.model,
      prompt: request.prompt,
      n: Math.min(perCall, request.count - drawn.pictures.length),
      ...(size && { size }),
      ...(!sendsBytes.test(name) && { response_format: 'b64_json' }),
    })
    const { data, usage } = readReply(connection.id, text, generatedSchema)
    if (usage?.input_tokens != null) drawn.inputTokens = (drawn.inputTokens ?? 0) + usage.input_tokens
    if (usage?.output_tokens != null) drawn.outputTokens = (drawn.outputTokens ?? 0) + usage.output_tokens
    const received = await Promise.all(
      data.map(({ b64_json, url }) => (b64_json ? fromBase64(b64_json) : readPicture(connection, url ?? '', signal))),
    )
    drawn.pictures.push(...received.filter((bytes) => bytes.length > 0))
    // A server that ignores `n` would be asked without end.
    if (received.length === 0 || !isSingle) break
  }
  return { ...drawn, pictures: drawn.pictures.slice(0, request.count) }
}

const chatSchema = z.object({
  choices: z
    .array(
      z.object({
        message: z.object({
          content: z.string().nullish(),
          images: z.array(z.object({ image_url: z.object({ url: z.string() }) })).nullish(),
        }),
      }),
    )
    .min(1),
  usage: z.object({ prompt_tokens: z.number().nullish(), completion_tokens: z.number().nullish() }).nullish(),
})

/** A chat model that answers with pictures, as OpenRouter serves them. */
async function drawInChat(connection: Connection, request: PictureRequest, signal: AbortSignal): Promise<Drawn> {
  const drawn = { pictures: [] as Uint8Array[], inputTokens: 0, outputTokens: 0 }
  for (let at = 0; at < request.count; at += 1) {
    const text = await post(connection, connection.fetch, 'chat/completions', signal, {
      model: connection.settings.model,
      modalities: ['image', 'text'],
      ...(request.shape && { image_config: { aspect_ratio: ratios[request.shape] } }),
      messages: [{ role: 'user', content: request.prompt }],
    })
    const { choices, usage } = readReply(connection.id, text, chatSchema)
    const { images, content } = choices[0]?.message ?? {}
    const received = await Promise.all(
      (images ?? []).map(({ image_url: { url } }) => readPicture(connection, url, signal)),
    )
    if (received.length === 0 && content) {
      throw new ModelError('rejected', `${connection.id}: ${content.slice(0, 400).toWellFormed()}`, {
        retryable: false,
      })
    }
    drawn.pictures.push(...received.filter((bytes) => bytes.length > 0))
    drawn.inputTokens += usage?.prompt_tokens ?? 0
    drawn.outputTokens += usage?.completion_tokens ?? 0
  }
  return { ...drawn, pictures: drawn.pictures.slice(0, request.count) }
}

/** Google's image models, one picture a call. */
async function drawByGoogle(connection: Connection, request: PictureRequest, signal: AbortSignal): Promise<Drawn> {
  const { openGoogleImages } = await import('./providers.ts')
  const model = await openGoogleImages(connection)
  const drawn = { pictures: [] as Uint8Array[], inputTokens: 0, outputTokens: 0 }
  for (let at = 0; at < request.count; at += 1) {
    const { images, usage } = await model.doGenerate({
      prompt: request.prompt,
      n: 1,
      size: undefined,
      aspectRatio: request.shape ? ratios[request.shape] : undefined,
      seed: undefined,
      files: undefined,
      mask: undefined,
      providerOptions: {},
      abortSignal: signal,
    })
    drawn.pictures.push(...images.map((image) => (typeof image === 'string' ? fromBase64(image) : image)))
    drawn.inputTokens += usage?.inputTokens ?? 0
    drawn.outputTokens += usage?.outputTokens ?? 0
  }
  return drawn
}

async function post(
  { baseUrl, apiKey }: Connection,
  fetch: ProviderFetch,
  path: string,
  signal: AbortSignal,
  body: object,
): Promise<string> {
  const response = await fetch(`${baseUrl}/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(apiKey && { authorization: `Bearer ${apiKey}` }) },
    body: JSON.stringify(body),
    signal,
  })
  const text = await response.text()
  if (response.ok) return text
  throw {
    message: response.statusText,
    statusCode: response.status,
    responseHeaders: Object.fromEntries(response.headers),
    responseBody: text,
  }
}

function readReply<T>(id: string, text: string, schema: z.ZodType<T>): T {
  const read = parseJson(text, schema)
  if (read.ok) return read.value
  throw new ModelError('rejected', `${id}: its answer cannot be read: ${read.message}`, { retryable: false })
}

/** Bytes from a data address, or from an address of the provider. Nothing is sent there. */
async function readPicture({ id, plainFetch }: Connection, url: string, signal: AbortSignal): Promise<Uint8Array> {
  const inline = /^data:[^,]*;base64,/.exec(url)
  if (inline) return fromBase64(url.slice(inline[0].length))
  if (!/^https?:/.test(url)) return new Uint8Array()
  const response = await plainFetch(url, { signal })
  if (response.ok) return new Uint8Array(await response.arrayBuffer())
  await response.body?.cancel()
  throw new ModelError('rejected', `${id}: its picture cannot be fetched (HTTP ${response.status})`, {
    retryable: false,
  })
}

function fromBase64(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text.replace(/^data:[^,]*,/, ''), 'base64'))
}
