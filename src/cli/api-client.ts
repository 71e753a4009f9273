import { z } from 'zod'
import { parseJson } from '../base/json.ts'
import * as api from '../protocol/api.ts'
import type { StreamedEvent, TurnEvent } from '../protocol/event.ts'
import { type ApiRequest, type ApiTransport, createApiTransport, notUnderstood } from './api-transport.ts'
import { unreachable } from './http-request.ts'

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
  context(sessionId: string): Promise<api.ContextReply>
  /** For what else there is to ask. */
  transport: ApiTransport
}

export function createApiClient(options: { url: string; credential: string }): ApiClient {
  const transport = createApiTransport(options)
  const { base, ask } = transport

  async function* stream(path: string, request: ApiRequest): AsyncGenerator<StreamedEvent> {
    for await (const { id, data } of transport.events(path, request)) {
      const parsed = parseJson(data, eventSchema)
      if (!parsed.ok) throw notUnderstood(path, parsed.message)
      yield { cursor: id, event: parsed.value as TurnEvent }
    }
  }

  const session = (id: string, rest: string) => `/sessions/${encodeURIComponent(id)}/${rest}`

  return {
    chat: (message, signal) => ask('/chat', api.chatReplySchema, { body: message, signal }),
    async *chatEvents(message, signal) {
      for await (const streamed of stream('/chat', { body: message, signal })) {
        yield streamed
        if (streamed.event.type === 'turn_end') return
      }
      // A Familiar that stops ends its streams first.
      throw unreachable(base, 'it is stopping')
    },
    notify: (message) => ask('/notify', api.notifyReplySchema, { body: message }),
    status: (signal) => ask('/status', api.statusReplySchema, { signal }),
    monitor: () => ask('/monitor', api.monitorReplySchema),
    cost: (period) => ask(`/cost?${new URLSearchParams({ period })}`, api.costReplySchema),
    async sessions({ archived = false } = {}) {
      return (await ask(`/sessions?archived=${archived}`, api.sessionsReplySchema)).sessions
    },
    history(id, { full = false, after = 0, limit = 500 } = {}) {
      return ask(session(id, `history?full=${full}&after=${after}&limit=${limit}`), api.historyReplySchema)
    },
    events: (id, { after, signal }) =>
      stream(session(id, after === undefined ? 'events' : `events?${new URLSearchParams({ after })}`), { signal }),
    stop: (id) => ask(session(id, 'stop'), api.stopReplySchema, { body: {} }),
    reset: (target) => ask('/sessions/reset', api.resetReplySchema, { body: { target } }),
    context: (id) => ask(session(id, 'context'), api.contextReplySchema),
    transport,
  }
}

// The events have no schema of their own: they come from the same program, and a newer kind must not end an older client.
const eventSchema = z.looseObject({ type: z.string() })
