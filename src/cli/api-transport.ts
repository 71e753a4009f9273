import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import type { z } from 'zod'
import { parseJson } from '../base/json.ts'
import { errorReplySchema } from '../protocol/api.ts'
import { CommandError, exitCodes } from './command-error.ts'
import { readEventStream, type ServerSentEvent } from './event-stream.ts'
import { type RequestBody, readBody, readText, sendRequest } from './http-request.ts'

export interface ApiRequest {
  /** Without one: POST where there is a body, otherwise GET. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Sent as JSON. */
  body?: unknown
  /** In place of `body`: sent as it is. */
  raw?: { mediaType: string; data: RequestBody }
  signal?: AbortSignal | undefined
  /** Of a stream: told its headers before its first event. */
  onHeaders?: (headers: IncomingHttpHeaders) => void
}

/** Requests to Familiar's HTTP API. A refusal is thrown as a `CommandError` in its words. */
export interface ApiTransport {
  readonly base: string
  ask<T>(path: string, schema: z.ZodType<T>, request?: ApiRequest): Promise<T>
  /** The events of a stream to its end. One that tells of an error is thrown. */
  events(path: string, request?: ApiRequest): AsyncGenerator<ServerSentEvent>
  /** The bytes of an answer as they come. */
  bytes(path: string, request?: ApiRequest): AsyncGenerator<Uint8Array>
}

export function createApiTransport(options: { url: string; credential: string }): ApiTransport {
  const base = `${reachable(options.url)}/api/v1`

  function send(path: string, request: ApiRequest, accept: string): Promise<IncomingMessage> {
    const { body, raw, signal } = request
    const data = raw?.data ?? (body === undefined ? undefined : JSON.stringify(body))
    return sendRequest({
      url: `${base}${path}`,
      method: methodOf(request),
      headers: {
        authorization: `Bearer ${options.credential}`,
        accept,
        ...(data !== undefined && { 'content-type': raw?.mediaType ?? 'application/json' }),
      },
      body: data,
      signal,
    })
  }

  async function open(path: string, request: ApiRequest, accept: string): Promise<IncomingMessage> {
    const response = await send(path, request, accept)
    if (response.statusCode !== 200) throw refusal(response, await readText(response, base))
    return response
  }

  async function ask<T>(path: string, schema: z.ZodType<T>, request: ApiRequest = {}): Promise<T> {
    const response = await send(path, request, 'application/json')
    if (response.statusCode === 429 && methodOf(request) === 'GET') {
      // Paging through a long log is faster than the limit allows.
      response.resume()
      const { signal } = request
      await wait(Math.min(60, Number(response.headers['retry-after'] ?? 1)) * 1_000, undefined, signal && { signal })
      return ask(path, schema, request)
    }
    const text = await readText(response, base)
    if (response.statusCode !== undefined && response.statusCode >= 400) throw refusal(response, text)
    const parsed = parseJson(text, schema)
    if (!parsed.ok) throw notUnderstood(path, parsed.message)
    return parsed.value
  }

  return {
    base,
    ask,
    async *events(path, request = {}) {
      const response = await open(path, request, 'text/event-stream')
      request.onHeaders?.(response.headers)
      for await (const event of readEventStream(readBody(response, base))) {
        if (event.type === 'error') throw refusal(response, event.data)
        yield event
      }
    },
    async *bytes(path, request = {}) {
      yield* readBody(await open(path, request, '*/*'), base)
    },
  }
}

function methodOf({ method, body, raw }: ApiRequest): NonNullable<ApiRequest['method']> {
  return method ?? (body === undefined && raw === undefined ? 'GET' : 'POST')
}

/** An answer that another version might have given. */
export function notUnderstood(path: string, problem: string): CommandError {
  return new CommandError(`Familiar's answer to ${path} was not understood: ${problem}`, {
    code: 'internal',
    hint: 'The daemon may be of another version. Restart it.',
  })
}

/** An address that means every interface is one to listen on, not one to call. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:').replace(/\/$/, '')
}

function refusal(response: IncomingMessage, text: string): CommandError {
  const parsed = parseJson(text, errorReplySchema)
  if (!parsed.ok) {
    return new CommandError(`Familiar answered with ${response.statusCode} and no reason.`, { code: 'internal' })
  }
  const { error, code, request_id } = parsed.value
  const exitCode = code === 'bad_request' ? exitCodes.usage : exitCodes.failed
  return new CommandError(error, { exitCode, code, hint: hintFor(code, request_id) })
}

function hintFor(code: string, requestId: string | undefined): string | undefined {
  if (code === 'unauthorized') return 'The daemon was started with another credential. Restart it.'
  return requestId ? `Look for ${requestId} in the log directory of the home.` : undefined
}
