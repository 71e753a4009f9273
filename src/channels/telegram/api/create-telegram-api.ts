import { z } from 'zod'
import type { Clock } from '../../../base/clock.ts'
import { parseJson } from '../../../base/json.ts'
import type { GuardedFetch } from '../../../egress/guarded-fetch.ts'
import type { Json } from '../../../protocol/json.ts'
import type { TelegramAnswer, TelegramApi, TelegramFile } from './telegram-api.ts'
import { whatFailed } from './what-failed.ts'

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

/**
 * `fetch` has to let an answer take as long as the longest call here (a long poll, a large file) and be as large as the
 * largest download: the limits of each call are kept here.
 */
export function createTelegramApi(dependencies: {
  token: string
  /** Without a slash at its end. */
  apiRoot: string
  fetch: GuardedFetch
  clock: Clock
}): TelegramApi {
  const { token, apiRoot, fetch, clock } = dependencies
  const withoutToken = (text: string) => text.replaceAll(token, '…').replaceAll(encodeURIComponent(token), '…')

  /** Asks, and reads the answer whole inside the time. */
  async function exchange<T>(
    request: { url: string; init: RequestInit; signal: AbortSignal; timeoutMs: number },
    read: (answer: Response) => Promise<TelegramAnswer<T>>,
  ): Promise<TelegramAnswer<T>> {
    const { url, init, signal, timeoutMs } = request
    signal.throwIfAborted()
    const timeout = new AbortController()
    const stop = clock.after(timeoutMs, () => timeout.abort(new Error(`no answer within ${timeoutMs / 1_000} s`)))
    try {
      // A redirect would carry the token, which stands in the address, to another host.
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
    return { kind: 'unknown', reason: 'the answer is not what the Bot API describes' }
  }

  return {
    async call(method, parameters, { result, signal, timeoutMs = usualTimeoutMs, files }) {
      const body = files ? await encodeForm(parameters, files) : encodeJson(parameters)
      const init = { method: 'POST', ...body }
      const url = `${apiRoot}/bot${token}/${method}`
      return await exchange({ url, init, signal, timeoutMs }, (answer) => readAnswer(answer, result))
    },

    async download(path, { maxBytes, signal }) {
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

/** What stands between Telegram and us answered, or Telegram not in its own words. */
function notOfTheApi(status: number): TelegramAnswer<never> {
  if (status < 300) return { kind: 'unknown', reason: 'the answer is not JSON' }
  return { kind: 'refused', code: status, description: `HTTP ${status}`, retryAfterSeconds: null, movedTo: null }
}

/** Whatever it says: it stays below the folder of the bot's files. */
function encodePath(path: string): string {
  const steps = path.split('/').filter((step) => step !== '' && step !== '.' && step !== '..')
  return steps.map((step) => encodeURIComponent(step.toWellFormed())).join('/')
}

function encodeJson(parameters: Readonly<Record<string, Json>>): Pick<RequestInit, 'headers' | 'body'> {
  return { headers: { 'content-type': 'application/json' }, body: JSON.stringify(parameters) }
}

async function encodeForm(
  parameters: Readonly<Record<string, Json>>,
  files: Readonly<Record<string, TelegramFile>>,
): Promise<Pick<RequestInit, 'headers' | 'body'>> {
  const form = new FormData()
  for (const [name, value] of Object.entries(parameters)) {
    form.set(name, typeof value === 'string' ? value : JSON.stringify(value))
  }
  for (const [name, { name: fileName, mediaType, data }] of Object.entries(files)) {
    form.set(name, new Blob([new Uint8Array(data)], { type: mediaType }), fileName)
  }
  // Encoded here: the guarded fetch is of another release than Node's own FormData and would not know it.
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
