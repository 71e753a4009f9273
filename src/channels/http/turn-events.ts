import type { Receipt, TurnEnd } from '../../agent/conversations.ts'
import type { StreamedEvent } from '../../protocol/event.ts'
import type { HttpDependencies } from './http-dependencies.ts'

/**
 * Where the session's stream stood before a message came, so that its turn can be watched from the beginning. Taken
 * before `submit`: afterwards the turn may be running already.
 */
export async function cursorBefore(
  { conversations }: Pick<HttpDependencies, 'conversations'>,
  place: { userId: string; channel: string; contact: string },
): Promise<(receipt: Receipt) => string> {
  const sessions = await conversations.sessions(place.userId)
  const known = sessions.find(({ channel, contact }) => channel === place.channel && contact === place.contact)
  // A message that came before has its turn somewhere in the log, and a new session has nothing before it.
  return (receipt) => (!receipt.duplicate && known?.id === receipt.sessionId ? String(known.lastSeq) : '0')
}

/** The events of one message's turn, from the message itself to the end of the turn, and then no more. */
export async function* eventsOfTurn(
  { conversations }: Pick<HttpDependencies, 'conversations'>,
  watch: {
    userId: string
    receipt: Receipt
    cursor: string
    signal: AbortSignal
    /** The turn is under way: what is watched is the rest of it. */
    turnId?: string
  },
): AsyncGenerator<StreamedEvent> {
  const { receipt, signal } = watch
  const elsewhere = new AbortController()
  let moved: TurnEnd | undefined
  let failure: { cause: unknown } | undefined
  const ended = conversations.waitForTurn(receipt.messageId, signal).then(
    (end) => {
      // A reset takes waiting messages along into the new session; the turn then is not in the log that is read here.
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
  const { turnId, text, question, toolCalls, deliver, outcome } = end
  const response = {
    type: 'response',
    turnId,
    text,
    buildId: null,
    pendingQuestion: question,
    toolCalls,
    deliver,
  } as const
  yield { cursor: '0', event: response }
  yield { cursor: '0', event: { type: 'turn_end', turnId, outcome } }
}
