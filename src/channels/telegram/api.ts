import type { Opts } from '@grammyjs/types'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import { EgressError } from '../../security/network/destinations.ts'
import type { GuardedFetch } from '../../security/network/guarded-fetch.ts'

/** The outcome of one call of the Bot API, as far as it is known. */
export type TelegramAnswer<T> =
  | { kind: 'ok'; result: T }
  /** It was rejected; with 429 Telegram says how long to wait. */
  | { kind: 'refused'; code: number; description: string; retryAfterSeconds: number | null; movedTo: number | null }
  /** Nothing reached Telegram: no address, no connection. */
  | { kind: 'unreached'; reason: string }
  /** It was sent, but no valid response arrived: it may have been done. */
  | { kind: 'unknown'; reason: string }

export interface TelegramFile {
  name: string
  mediaType: string
  data: Uint8Array
}

type BotMethods = Opts<TelegramFile>
/** The parameters of a method, without files. */
type BotParameters<M extends keyof BotMethods> = {
  [K in keyof BotMethods[M] as TelegramFile extends BotMethods[M][K] ? never : K]: BotMethods[M][K]
}

interface CallOptions<T> {
  result: z.ZodType<T>
  signal: AbortSignal
  /** The time limit of a response, in addition to a long poll's wait. */
  timeoutMs?: number
  /** Files to send, each under the name of its parameter. */
  files?: Readonly<Record<string, TelegramFile>>
}

/** Errors before anything was sent: no address, no connection, no encryption. */
const beforeSending =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_|EHOSTUNREACH|ENETUNREACH|ENETDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_|CERT_|ERR_TLS_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/

/** Whether a failed request may have arrived. If in doubt, it may. */
export function whatFailed(error: unknown): { kind: 'unreached' | 'unknown'; reason: string } {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof EgressError && current.code.startsWith('blocked')) {
      return { kind: 'unreached', reason: current.message }
    }
    const code = 'code' in current && typeof current.code === 'string' ? current.code : ''
    if (beforeSending.test(code)) return { kind: 'unreached', reason: `no connection (${code})` }
    if (!(current.cause instanceof Error)) return { kind: 'unknown', reason: code || current.message }
  }
  return { kind: 'unknown', reason: 'the connection broke' }
}

const usualTimeoutMs = 30_000
const downloadTimeoutMs = 120_000

const envelopeSchema = z.object({
  ok: z.boolean(),
  result: z.json().optional(),
  error_code: z.int().optional(),
  description: z.string().optional(),
  parameters: z
    .object({ retry_after: z.number().nonnegative().optional(), migrate_to_chat_id: z.int().optional() })
    .optional(),
})

export type TelegramApi = ReturnType<typeof createTelegramApi>

/**
 * `fetch` must allow the longest call here (a long poll, a large file) and the largest download: the limits of each
 * call are enforced here.
 */
export function createTelegramApi(dependencies: {
  token: string
  /** Without a trailing slash. */
  apiRoot: string
  fetch: GuardedFetch
  clock: Clock
}) {
  const { token, apiRoot, fetch, clock } = dependencies
  const withoutToken = (text: string) => text.replaceAll(token, '…').replaceAll(encodeURIComponent(token), '…')

  /** Sends a request and reads the complete response within the time limit. */
  async function exchange<T>(
    request: { url: string; init: RequestInit; signal: AbortSignal; timeoutMs: number },
    read: (answer: Response) => Promise<TelegramAnswer<T>>,
  ): Promise<TelegramAnswer<T>> {
    const { url, init, signal, timeoutMs } = request
    signal.throwIfAborted()
    const timeout = new AbortController()
    const stop = clock.after(timeoutMs, () => timeout.abort(new Error(`no response within ${timeoutMs / 1_000} s`)))
    try {
      // A redirect would send the token, which is part of the address, to another host.
      const ended = AbortSignal.any([signal, timeout.signal])
      return await read(await fetch(url, { ...init, redirect: 'manual', signal: ended }))
    } catch (error) {
      signal.throwIfAborted()
      const { kind, reason } = whatFailed(timeout.signal.aborted ? timeout.signal.reason : error)
      return { kind, reason: withoutToken(reason) }
    } finally {
      stop()
    }
  }

  async function readAnswer<T>(answer: Response, schema: z.ZodType<T>): Promise<TelegramAnswer<T>> {
    const text = await answer.text()
    const envelope = parseJson(text, envelopeSchema)
    if (!envelope.ok) return notOfTheApi(answer.status)
    const { ok, result, error_code, description = '', parameters } = envelope.value
    if (!ok || answer.status >= 300) {
      return {
        kind: 'refused',
        code: error_code ?? answer.status,
        description: withoutToken(description),
        retryAfterSeconds: parameters?.retry_after ?? null,
        movedTo: parameters?.migrate_to_chat_id ?? null,
      }
    }
    const fitting = schema.safeParse(result)
    if (fitting.success) return { kind: 'ok', result: fitting.data }
    return { kind: 'unknown', reason: 'the response does not match the Bot API' }
  }

  return {
    async call<M extends keyof BotMethods, T>(
      method: M,
      parameters: BotParameters<M>,
      { result, signal, timeoutMs = usualTimeoutMs, files }: CallOptions<T>,
    ): Promise<TelegramAnswer<T>> {
      const body = files ? await encodeForm(parameters, files) : encodeJson(parameters)
      const init = { method: 'POST', ...body }
      const url = `${apiRoot}/bot${token}/${method}`
      return await exchange({ url, init, signal, timeoutMs }, (answer) => readAnswer(answer, result))
    },

    /** A file from `getFile`, of at most `maxBytes`. */
    async download(
      path: string,
      { maxBytes, signal }: { maxBytes: number; signal: AbortSignal },
    ): Promise<TelegramAnswer<Uint8Array>> {
      const url = `${apiRoot}/file/bot${token}/${encodePath(path)}`
      return await exchange({ url, init: {}, signal, timeoutMs: downloadTimeoutMs }, async (answer) => {
        if (answer.status === 200) return await readBytes(answer, maxBytes)
        await answer.body?.cancel()
        return notOfTheApi(answer.status)
      })
    },

    close: () => fetch.close(),
  }
}

/** A proxy answered, or Telegram outside its API. */
function notOfTheApi(status: number): TelegramAnswer<never> {
  if (status < 300) return { kind: 'unknown', reason: 'the response is not JSON' }
  return { kind: 'refused', code: status, description: `HTTP ${status}`, retryAfterSeconds: null, movedTo: null }
}

/** The path stays below the folder of the bot's files, whatever it contains. */
function encodePath(path: string): string {
  const steps = path.split('/').filter((step) => step !== '' && step !== '.' && step !== '..')
  return steps.map((step) => encodeURIComponent(step.toWellFormed())).join('/')
}

function encodeJson(parameters: object): Pick<RequestInit, 'headers' | 'body'> {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(parameters) }
}

async function encodeForm(
  parameters: object,
  files: Readonly<Record<string, TelegramFile>>,
): Promise<Pick<RequestInit, 'headers' | 'body'>> {
  const form = new FormData()
  for (const [name, value] of Object.entries(parameters)) {
    form.set(name, typeof value === 'string' ? value : JSON.stringify(value))
  }
  for (const [name, { name: fileName, mediaType, data }] of Object.entries(files)) {
    form.set(name, new Blob([new Uint8Array(data)], { type: mediaType }), fileName)
  }
  // Encoded here: the guarded fetch has another undici version than Node and does not accept its FormData.
  const encoded = new Response(form)
  const contentType = encoded.headers.get('content-type') ?? 'multipart/form-data'
  return { headers: { 'content-type': contentType }, body: new Uint8Array(await encoded.arrayBuffer()) }
}

async function readBytes(answer: Response, maxBytes: number): Promise<TelegramAnswer<Uint8Array>> {
  const chunks: Uint8Array[] = []
  let received = 0
  for await (const chunk of answer.body ?? []) {
    received += chunk.byteLength
    if (received > maxBytes) {
      const description = `the file is larger than ${maxBytes} bytes`
      return { kind: 'refused', code: 413, description, retryAfterSeconds: null, movedTo: null }
    }
    chunks.push(chunk)
  }
  return { kind: 'ok', result: new Uint8Array(Buffer.concat(chunks)) }
}
