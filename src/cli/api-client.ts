import type { IncomingMessage } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { parseJson } from '../base/json.ts'
import * as api from '../protocol/api.ts'
import type { StreamedEvent, TurnEvent } from '../protocol/event.ts'
import { CommandError, exitCodes } from './command-error.ts'
import { readEventStream } from './event-stream.ts'
import { readBody, readText, sendRequest, unreachable } from './http-request.ts'

/** Familiar as the command line sees it: its HTTP API, typed. A refusal is thrown as a `CommandError` in its words. */
export interface ApiClient {
  chat(message: api.MessageRequestInput, signal?: AbortSignal): Promise<api.ChatReply>
  /** The events of the message's turn, to its end. */
  chatEvents(message: api.MessageRequestInput, signal?: AbortSignal): AsyncGenerator<StreamedEvent>
  /** Resolves when the message is safe. */
  notify(message: api.MessageRequestInput): Promise<api.NotifyReply>
  status(signal?: AbortSignal): Promise<api.StatusReply>
  monitor(): Promise<api.MonitorReply>
  cost(period: string): Promise<api.CostReply>
  sessions(options?: { archived?: boolean }): Promise<api.SessionReply[]>
  history(sessionId: string, page?: { full?: boolean; after?: number; limit?: number }): Promise<api.HistoryReply>
  /** From the cursor on, for ever. */
  events(sessionId: string, options: { after?: string; signal: AbortSignal }): AsyncGenerator<StreamedEvent>
  stop(sessionId: string): Promise<api.StopReply>
  reset(target: string): Promise<api.ResetReply>
  mark(sessionId: string, name: string): Promise<api.MarkReply>
  rewind(sessionId: string, to: api.RewindRequest): Promise<api.RewindReply>
  fork(sessionId: string, contact: string): Promise<api.SessionReply>
  compact(sessionId: string): Promise<api.CompactReply>
  context(sessionId: string): Promise<api.ContextReply>
}

export function createApiClient(options: { url: string; credential: string }): ApiClient {
  const base = `${reachable(options.url)}/api/v1`

  function send(path: string, request: { body?: unknown; accept?: string; signal?: AbortSignal | undefined } = {}) {
    const { body, accept = 'application/json', signal } = request
    const headers = { authorization: `Bearer ${options.credential}`, accept }
    if (body === undefined) return sendRequest({ url: `${base}${path}`, method: 'GET', headers, signal })
    return sendRequest({
      url: `${base}${path}`,
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal,
    })
  }

  async function ask<T>(path: string, schema: z.ZodType<T>, body?: unknown, signal?: AbortSignal): Promise<T> {
    const response = await send(path, { body, signal })
    if (response.statusCode === 429 && body === undefined) {
      // Paging through a long log is faster than the limit allows.
      response.resume()
      await wait(Math.min(60, Number(response.headers['retry-after'] ?? 1)) * 1_000, undefined, signal && { signal })
      return ask(path, schema, body, signal)
    }
    const text = await readText(response, base)
    if (response.statusCode !== undefined && response.statusCode >= 400) throw refusal(response, text)
    const parsed = parseJson(text, schema)
    if (!parsed.ok) throw notUnderstood(path, parsed.message)
    return parsed.value
  }

  async function* stream(path: string, body: unknown, signal?: AbortSignal): AsyncGenerator<StreamedEvent> {
    const response = await send(path, { body, accept: 'text/event-stream', signal })
    if (response.statusCode !== 200) throw refusal(response, await readText(response, base))
    for await (const { id, data, type } of readEventStream(readBody(response, base))) {
      if (type === 'error') throw refusal(response, data)
      const parsed = parseJson(data, eventSchema)
      if (!parsed.ok) throw notUnderstood(path, parsed.message)
      yield { cursor: id, event: parsed.value as TurnEvent }
    }
  }

  const session = (id: string, rest: string) => `/sessions/${encodeURIComponent(id)}/${rest}`

  return {
    chat: (message, signal) => ask('/chat', api.chatReplySchema, message, signal),
    async *chatEvents(message, signal) {
      for await (const streamed of stream('/chat', message, signal)) {
        yield streamed
        if (streamed.event.type === 'turn_end') return
      }
      // A Familiar that stops ends its streams first.
      throw unreachable(base, 'it is stopping')
    },
    notify: (message) => ask('/notify', api.notifyReplySchema, message),
    status: (signal) => ask('/status', api.statusReplySchema, undefined, signal),
    monitor: () => ask('/monitor', api.monitorReplySchema),
    cost: (period) => ask(`/cost?${new URLSearchParams({ period })}`, api.costReplySchema),
    async sessions({ archived = false } = {}) {
      return (await ask(`/sessions?archived=${archived}`, api.sessionsReplySchema)).sessions
    },
    history(id, { full = false, after = 0, limit = 500 } = {}) {
      return ask(session(id, `history?full=${full}&after=${after}&limit=${limit}`), api.historyReplySchema)
    },
    events: (id, { after, signal }) =>
      stream(
        session(id, after === undefined ? 'events' : `events?${new URLSearchParams({ after })}`),
        undefined,
        signal,
      ),
    stop: (id) => ask(session(id, 'stop'), api.stopReplySchema, {}),
    reset: (target) => ask('/sessions/reset', api.resetReplySchema, { target }),
    mark: (id, name) => ask(session(id, 'mark'), api.markReplySchema, { name }),
    rewind: (id, to) => ask(session(id, 'rewind'), api.rewindReplySchema, to),
    fork: (id, contact) => ask(session(id, 'fork'), api.sessionReplySchema, { contact }),
    compact: (id) => ask(session(id, 'compact'), api.compactReplySchema, {}),
    context: (id) => ask(session(id, 'context'), api.contextReplySchema),
  }
}

/** An address that means every interface is one to listen on, not one to call. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:').replace(/\/$/, '')
}

// The events have no schema of their own: they come from the same program, and a newer kind must not end an older client.
const eventSchema = z.looseObject({ type: z.string() })

function refusal(response: IncomingMessage, text: string): CommandError {
  const parsed = parseJson(text, api.errorReplySchema)
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

function notUnderstood(path: string, problem: string): CommandError {
  return new CommandError(`Familiar's answer to ${path} was not understood: ${problem}`, {
    code: 'internal',
    hint: 'The daemon may be of another version. Restart it.',
  })
}
