import type { z } from 'zod'
import type { Conversations, Receipt, TurnEnd, TurnReply } from '../agent/conversations.ts'
import type { LoggedEvent } from '../agent/sessions/session-event.ts'
import type { Session } from '../agent/sessions/sessions.ts'
import type { Clock } from '../base/clock.ts'
import type { Logger } from '../base/logger.ts'
import { type historyEventSchema, turnReplySchema } from '../protocol/api.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { StreamedEvent } from '../protocol/events.ts'
import type { Json } from '../protocol/messages.ts'
import { type Operation, toWire } from '../protocol/operation.ts'
import { type Redactor, redactJson } from '../security/redactor.ts'
import type { HttpContext, HttpDependencies } from './dependencies.ts'
import { callerOf } from './guards.ts'
import { commonHeaders, describeError, errorReply, jsonReply, orNotFound, quotedName } from './replies.ts'
import { type Asked, type HandlerReply, handle, type Route } from './route.ts'

/**
 * Replies when the turn of a message has ended or waits for its client. The turn continues if the client disconnects or the
 * time is over.
 */
export async function waitForReply(
  { conversations, clock }: Pick<HttpDependencies, 'conversations' | 'clock'>,
  context: HttpContext,
  wait: Pick<Receipt, 'messageId' | 'sessionId'> & { timeoutSeconds?: number | undefined },
): Promise<Response> {
  const { messageId, sessionId, timeoutSeconds } = wait
  const { signal } = context.req.raw
  if (timeoutSeconds === undefined) return chatReply(await conversations.waitForReply(messageId, signal))
  const timeout = new AbortController()
  const cancel = clock.after(timeoutSeconds * 1000, () => timeout.abort())
  try {
    return chatReply(await conversations.waitForReply(messageId, AbortSignal.any([timeout.signal, signal])))
  } catch (cause) {
    if (!timeout.signal.aborted) throw cause
    const message = `The turn takes longer than ${timeoutSeconds} seconds. It continues; its session's events show the result.`
    return errorReply('timeout', message, { details: { message_id: messageId, session_id: sessionId } })
  } finally {
    cancel()
  }
}

export const failureCodes = { provider: 'provider_error', timeout: 'provider_timeout', internal: 'internal' } as const

/**
 * The end of the turn, or the calls of the client's tools for which it waits. A turn that the provider failed is an error of
 * the gateway.
 */
function chatReply(reply: TurnReply): Response {
  if (reply.kind === 'asks') {
    const { calls } = reply
    const expiresAt = Math.min(...calls.map((call) => call.expiresAt))
    return turnReply({ ...reply, reply: '', toolCalls: [...calls], expiresAt, meta: { hasToolCalls: true } })
  }
  const { end } = reply
  if (end.outcome === 'failed') {
    return errorReply(failureCodes[end.failure ?? 'internal'], end.text, {
      details: { session_id: end.sessionId, turn_id: end.turnId },
    })
  }
  return turnReply({
    ...end,
    outcome: end.outcome,
    reply: end.text,
    pendingQuestion: end.question,
    pendingChoices: end.choices ?? undefined,
    attachments:
      end.attachments.length > 0
        ? end.attachments.map(({ name, reading }) => ({ ...reading, name, path: reading.path ?? null }))
        : undefined,
    files:
      end.files.length > 0
        ? end.files.map(({ name, path = null, bytes, mediaType, hash }) => {
            return { name, path, bytes, mediaType, url: `/api/v1/sessions/${end.sessionId}/media/${hash}` }
          })
        : undefined,
    notices: [...end.notices],
    memories: end.recalled,
    meta: { hasToolCalls: false },
  })
}

function turnReply(reply: z.infer<typeof turnReplySchema>): Response {
  return jsonReply(toWire(turnReplySchema, reply) as object)
}

export interface SentEvent {
  /** Absent: only data, as some clients expect. */
  name?: string
  /** Text is sent as it is. */
  data: object | string
  /** Comes back as `Last-Event-ID` from a client that reconnects. */
  id?: string
}

const keepAliveMs = 15_000
const headers = { ...commonHeaders, 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' }

/**
 * Server-sent events, taken from `events` no faster than the client reads them. `release` is called once, when the client
 * disconnects or the stream ends, and must end `events`. An error of `events` becomes the last event.
 */
function eventStreamReply(options: {
  events: AsyncIterator<SentEvent>
  release: () => void
  toErrorEvent(cause: unknown): SentEvent
  clock: Clock
  /** Removes secrets from the data of an event. */
  redact?: ((data: object) => object) | undefined
  headers?: Record<string, string>
}): Response {
  const { events, toErrorEvent, clock, redact = (data) => data } = options
  const encode = (event: SentEvent) =>
    encodeEvent(typeof event.data === 'string' ? event : { ...event, data: redact(event.data) })
  let ended = false
  let stopKeepAlive = () => {}

  function end(): void {
    if (ended) return
    ended = true
    stopKeepAlive()
    options.release()
  }

  const stream = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const keepAlive = () => {
          // A client that does not read needs no keep-alive.
          if ((controller.desiredSize ?? -1) >= 0) controller.enqueue(Buffer.from(': keep-alive\n\n'))
          stopKeepAlive = clock.after(keepAliveMs, keepAlive)
        }
        stopKeepAlive = clock.after(keepAliveMs, keepAlive)
      },
      async pull(controller) {
        let last: SentEvent | undefined
        try {
          const next = await events.next()
          if (!next.done && !ended) return controller.enqueue(encode(next.value))
        } catch (cause) {
          last = toErrorEvent(cause)
        }
        if (ended) return
        if (last) controller.enqueue(encode(last))
        end()
        controller.close()
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  )
  return new Response(stream, { headers: options.headers ? { ...headers, ...options.headers } : headers })
}

/** Events of a session under their own names; with `only`, just those types. */
export async function* toSentEvents(
  events: AsyncIterable<StreamedEvent>,
  only?: ReadonlySet<string>,
): AsyncGenerator<SentEvent> {
  for await (const { cursor, event } of events) {
    if (!only || only.has(event.type)) yield { id: cursor, name: event.type, data: event }
  }
}

function encodeEvent(event: SentEvent): Uint8Array {
  const id = event.id === undefined ? '' : `id: ${event.id}\n`
  const name = event.name === undefined ? '' : `event: ${event.name}\n`
  const data = typeof event.data === 'string' ? event.data : JSON.stringify(event.data)
  return Buffer.from(`${id}${name}data: ${data}\n\n`)
}

/** The messages and replies of a log or, in full, every event with its data. */
export function toHistoryEvents(
  events: readonly LoggedEvent[],
  options: { full: boolean },
): z.infer<typeof historyEventSchema>[] {
  return events.flatMap((event) => {
    const spoken = spokenBy(event)
    if (!spoken && !options.full) return []
    const { seq, turnId, at, type, ...data } = event
    return [
      {
        seq,
        at,
        turnId,
        type,
        role: spoken?.role ?? null,
        text: spoken?.text ?? null,
        ...(options.full && { data: data satisfies object as Record<string, Json> }),
      },
    ]
  })
}

function spokenBy(event: LoggedEvent): { role: 'user' | 'assistant'; text: string } | undefined {
  if (event.type === 'message_received') return { role: 'user', text: event.text }
  if (event.type === 'turn_ended') return { role: 'assistant', text: event.text }
  return undefined
}

export type OpenStreams = ReturnType<typeof createOpenStreams>

/** The open event streams, limited in all and for each user. They end when the server stops. */
export function createOpenStreams({ inAll, ofUser }: { inAll: number; ofUser: number }) {
  const streams = new Map<AbortController, string>()

  function refuse(userId: string): void {
    const own = streams
      .values()
      .filter((other) => other === userId)
      .toArray().length
    if (own >= ofUser) throw tooMany(`You have ${ofUser} streams open, and no more are allowed`)
    if (streams.size >= inAll) throw tooMany(`More than ${inAll} streams are open`)
  }

  return {
    /** The signal aborts when the stream must end. The caller ends it with `release`. */
    open(userId: string): { signal: AbortSignal; release: () => void } {
      refuse(userId)
      const controller = new AbortController()
      streams.set(controller, userId)
      const release = () => {
        streams.delete(controller)
        controller.abort()
      }
      return { signal: controller.signal, release }
    },
    endAll(): void {
      for (const controller of streams.keys()) controller.abort()
    },
  }
}

function tooMany(message: string): FamiliarError {
  return new FamiliarError('rate_limited', message, { retryAfterSeconds: 5 })
}

export function sessionReply(session: Session) {
  return { ...session, events: session.lastSeq }
}

/** Binds handlers to operations on the session in the path. */
export function createSessionHandler(dependencies: HttpDependencies) {
  return <const Of extends Operation>(
    operation: Of,
    handler: (asked: Asked<Of> & { session: Session }) => HandlerReply<Of> | Promise<HandlerReply<Of>>,
  ): Route =>
    handle(operation, async (asked) => handler({ ...asked, session: await sessionOf(dependencies, asked.context) }))
}

/** A HEAD request is handled as a GET without a body: its stream would stay open without a reader. */
export function refuseHead(context: HttpContext): void {
  if (context.req.method === 'HEAD') throw new FamiliarError('bad_request', 'HEAD is not supported for streams')
}

/** The session in the path, by id or by contact. Sessions of other users do not exist for the caller. */
export function sessionOf({ conversations }: HttpDependencies, context: HttpContext): Promise<Session> {
  return requireSession(conversations, callerOf(context).userId, context.req.param('id') ?? '')
}

export async function requireSession(
  conversations: Pick<Conversations, 'findSession'>,
  userId: string,
  name: string,
  options: { includeArchived?: boolean } = {},
): Promise<Session> {
  return orNotFound(await conversations.findSession(userId, name, options), `There is no session ${quotedName(name)}`)
}

/** Replies with a stream of a user. An error before the first byte is an ordinary error reply with its status. */
export type StreamReply = (
  userId: string,
  begin: (signal: AbortSignal) => Promise<{ events: AsyncIterator<SentEvent>; headers?: Record<string, string> }>,
  /** The form of a later error, for clients that expect another one than ours. */
  tellError?: (cause: FamiliarError & { requestId?: string }) => SentEvent,
) => Promise<Response>

export function createStreamReply(dependencies: {
  streams: OpenStreams
  clock: Clock
  logger: Logger
  redactor?: Redactor | undefined
  /** The id of the current request. */
  requestId?: () => string | undefined
}): StreamReply {
  const { streams, clock, logger, redactor } = dependencies
  const redact = redactor && ((data: object) => redactJson(redactor, data))

  function tellPlainly({ code, message, requestId }: FamiliarError & { requestId?: string }): SentEvent {
    return { name: 'error', data: { error: message, code, ...(requestId && { request_id: requestId }) } }
  }

  return async (userId, begin, tellError = tellPlainly) => {
    const { signal, release } = streams.open(userId)
    const requestId = dependencies.requestId?.()
    const toErrorEvent = (cause: unknown) => tellError(describeError(cause, logger, requestId))
    try {
      return eventStreamReply({ ...(await begin(signal)), release, clock, toErrorEvent, redact })
    } catch (cause) {
      release()
      throw cause
    }
  }
}

/**
 * The cursor of the session before a message, so that its turn can be streamed from the beginning. Called before `submit`,
 * because the turn may run right after it.
 */
export async function cursorBefore(
  { conversations }: Pick<HttpDependencies, 'conversations'>,
  place: { userId: string; channel: string; contact: string },
): Promise<(receipt: Receipt) => string> {
  const sessions = await conversations.sessions(place.userId)
  const known = sessions.find(({ channel, contact }) => channel === place.channel && contact === place.contact)
  // The turn of a duplicate is somewhere in the log, and a new session has nothing before it.
  return (receipt) => (!receipt.duplicate && known?.id === receipt.sessionId ? String(known.lastSeq) : '0')
}

/** The events of one message's turn, from the message to the end of the turn. */
export async function* eventsOfTurn(
  { conversations }: Pick<HttpDependencies, 'conversations'>,
  watch: {
    userId: string
    receipt: Receipt
    cursor: string
    signal: AbortSignal
    /** The turn is running: only the rest of it is streamed. */
    turnId?: string
  },
): AsyncGenerator<StreamedEvent> {
  const { receipt, signal } = watch
  const elsewhere = new AbortController()
  let moved: TurnEnd | undefined
  let failure: { cause: unknown } | undefined
  const ended = conversations.waitForTurn(receipt.messageId, signal).then(
    (end) => {
      // A reset moves queued messages to the new session; their turn is then not in this log.
      if (end.sessionId === receipt.sessionId) return
      moved = end
      elsewhere.abort()
    },
    (cause: unknown) => {
      failure = { cause }
      elsewhere.abort()
    },
  )
  const either = AbortSignal.any([signal, elsewhere.signal])
  const events = await conversations.events(watch.userId, receipt.sessionId, watch.cursor, either)
  let isOurs = watch.turnId !== undefined
  let turnId = watch.turnId
  for await (const streamed of events) {
    const { event } = streamed
    if (event.type === 'message' && event.messageId === receipt.messageId) isOurs = true
    if (!isOurs) continue
    yield streamed
    if (event.type === 'turn_start') turnId ??= event.turnId
    if (event.type === 'turn_end' && event.turnId === turnId) return
  }
  if (signal.aborted) return
  await ended
  if (failure) throw failure.cause
  if (moved) yield* endOf(moved)
}

function* endOf(end: TurnEnd): Generator<StreamedEvent> {
  const { turnId, text, question, choices, toolCalls, deliver, outcome, buildId } = end
  const pending = { pendingQuestion: question, ...(choices && { pendingChoices: choices }) }
  const response = { turnId, text, buildId, ...pending, toolCalls, deliver }
  yield { cursor: '0', event: { type: 'response', ...response } }
  yield { cursor: '0', event: { type: 'turn_end', turnId, outcome } }
}
