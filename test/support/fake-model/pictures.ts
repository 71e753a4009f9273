import { crc32, deflateSync } from 'node:zlib'
import { isObject, type JsonObject, string } from './json.ts'
import { openaiError } from './openai-error.ts'
import type { Call } from './wire.ts'

/** The next answer to a request for pictures. */
export interface PictureStep {
  /** Answers with this error. */
  status?: number
  errorMessage?: string
  code?: string
  /** Sends no picture: the content filter of Google and of chat models. */
  isFiltered?: true
  /** Sends addresses instead of bytes. */
  asUrls?: true
  /** Reported tokens; none by default. */
  usage?: { input: number; output: number }
  /** In place of the bytes of a picture. */
  bytes?: Uint8Array
}

export interface PictureRequest {
  path: string
  headers: Call['headers']
  body: JsonObject
}

/** A valid PNG of one color. */
export function makePicture(width = 64, height = 48, [red, green, blue] = [200, 80, 40]): Buffer {
  const row = Buffer.from([0, ...Array.from({ length: width }, () => [red, green, blue]).flat()] as number[])
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const pixels = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)))
  const parts = [chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))]
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...parts])
}

function chunk(name: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(name), data])
  const length = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  const sum = Buffer.alloc(4)
  sum.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, sum])
}

export const picturePath = '/fake/picture.png'

/** The images API of OpenAI, and pictures of Gemini and of chat models on OpenRouter. */
export function createPictures(base: () => string) {
  const steps: PictureStep[] = []
  const requests: PictureRequest[] = []

  function drawnBy(call: Call): ((step: PictureStep) => JsonObject) | { refused: string } | undefined {
    const { path, body } = call
    if (path.endsWith('/images/generations')) {
      const refused = objectionOf(body)
      if (refused) return { refused }
      return ({ asUrls, bytes, usage }) => ({
        created: 1,
        data: Array.from({ length: Number(body.n ?? 1) }, (_, at) =>
          asUrls
            ? { url: `${base()}${picturePath}` }
            : { b64_json: (bytes ? Buffer.from(bytes) : drawing(at)).toString('base64') },
        ),
        ...(usage && { usage: { input_tokens: usage.input, output_tokens: usage.output, total_tokens: 0 } }),
      })
    }
    const config = isObject(body.generationConfig) ? body.generationConfig : {}
    if (path.endsWith(':generateContent') && list(config.responseModalities).includes('IMAGE')) {
      return ({ isFiltered, usage = { input: 5, output: 1_290 } }) => ({
        candidates: [
          isFiltered
            ? { finishReason: 'IMAGE_SAFETY', index: 0 }
            : {
                content: {
                  role: 'model',
                  parts: [{ inlineData: { mimeType: 'image/png', data: drawing(0).toString('base64') } }],
                },
                finishReason: 'STOP',
                index: 0,
              },
        ],
        usageMetadata: { promptTokenCount: usage.input, candidatesTokenCount: usage.output },
      })
    }
    if (path.endsWith('/chat/completions') && list(body.modalities).includes('image')) {
      return ({ isFiltered, usage = { input: 5, output: 1_290 } }) => ({
        choices: [
          {
            index: 0,
            finish_reason: 'stop',
            message: isFiltered
              ? { role: 'assistant', content: 'I cannot draw that.' }
              : {
                  role: 'assistant',
                  content: '',
                  images: [
                    { type: 'image_url', image_url: { url: `data:image/png;base64,${drawing(0).toString('base64')}` } },
                  ],
                },
          },
        ],
        usage: { prompt_tokens: usage.input, completion_tokens: usage.output },
      })
    }
    return undefined
  }

  return {
    requests,
    reply: (step: PictureStep) => void steps.push(step),
    /** Undefined for a request that wants no picture. */
    answer(call: Call): { status: number; document: JsonObject } | undefined {
      const draw = drawnBy(call)
      if (!draw) return undefined
      requests.push(call)
      if ('refused' in draw) {
        return { status: 400, document: openaiError({ status: 400, message: draw.refused }) }
      }
      const step = steps.shift() ?? {}
      const { status, errorMessage = 'fake error', code } = step
      if (status === undefined) return { status: 200, document: draw(step) }
      return { status, document: openaiError({ status, message: errorMessage, ...(code !== undefined && { code }) }) }
    },
  }
}

const drawing = (at: number) => makePicture(64, 48, [200 - 40 * at, 80 + 40 * at, 40])

const list = (value: unknown) => (Array.isArray(value) ? value.map(string) : [])

const known = new Set(['model', 'prompt', 'n', 'size', 'quality', 'response_format', 'style', 'background', 'user'])

/** The refusals of OpenAI, in its words. */
function objectionOf(body: JsonObject): string | undefined {
  const model = string(body.model)
  const unknown = Object.keys(body).find((key) => !known.has(key))
  if (unknown !== undefined) return `Unknown parameter: '${unknown}'.`
  if (/^gpt-image/.test(model) && 'response_format' in body) return "Unknown parameter: 'response_format'."
  if (string(body.prompt) === '') return "Missing required parameter: 'prompt'."
  const n = body.n ?? 1
  if (!Number.isInteger(n) || Number(n) < 1 || Number(n) > 10) return "Invalid 'n': must be between 1 and 10."
  if (model === 'dall-e-3' && n !== 1) return 'You must provide n=1 for this model.'
  const sizes = model === 'dall-e-3' ? ['1024x1024', '1792x1024', '1024x1792'] : ['1024x1024', '1536x1024', '1024x1536']
  if (body.size !== undefined && !sizes.includes(string(body.size))) return `Invalid value: '${string(body.size)}'.`
  return undefined
}
