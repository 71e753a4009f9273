import { turnEndOf } from '../agent/event-stream.ts'
import type { LoggedEvent } from '../agent/sessions/session-event.ts'
import type { SessionLog } from '../agent/sessions/session-log.ts'
import type { Clock } from '../base/clock.ts'
import { signRequest } from '../base/ids.ts'
import { readDelay } from '../models/model-errors.ts'
import { isWorkChannel, type Json } from '../protocol/messages.ts'
import { EgressError } from '../security/network/destinations.ts'
import type { GuardedFetch } from '../security/network/guarded-fetch.ts'
import type { DeliveryChannel, DeliverySession } from './deliveries.ts'
import type { OutboxItem, OutgoingItem, Sender, SendOutcome } from './outbox.ts'
import { whatFailed } from './telegram/api.ts'

/** Rejections that may be temporary. */
const passing = new Set([408, 409, 425, 429])

/**
 * Calls the configured program, signed like incoming webhooks. It is called at least once per turn: the id in the body,
 * which is also the nonce, identifies a repetition.
 */
export function createCallbackSender(dependencies: {
  fetch: GuardedFetch
  clock: Clock
  settings: () => { url: string; secret: string }
}): Sender {
  const { fetch, clock, settings } = dependencies

  function signed(item: OutboxItem, secret: string): Pick<RequestInit, 'headers' | 'body'> {
    const body = JSON.stringify({ id: item.id, ...(item.payload as object) })
    const timestamp = String(Math.floor(clock.now() / 1_000))
    const headers = {
      'content-type': 'application/json',
      'x-familiar-timestamp': timestamp,
      'x-familiar-nonce': item.id,
      'x-familiar-signature': signRequest(secret, { timestamp, nonce: item.id, body }).toString('hex'),
    }
    return { headers, body }
  }

  return {
    channel: callbackChannel,
    async send(item, signal) {
      const { url, secret } = settings()
      try {
        const request = { method: 'POST', redirect: 'manual', signal, ...signed(item, secret) } as const
        const answer = await fetch(url, request)
        await answer.body?.cancel().catch(() => undefined)
        return outcomeOf(answer, clock.now())
      } catch (cause) {
        if (signal.aborted) throw cause
        const { reason } = whatFailed(cause)
        if (cause instanceof EgressError && cause.code.startsWith('blocked')) return { kind: 'failed', reason }
        // Retried whether or not it arrived.
        return { kind: 'retry', reason, afterMs: null }
      }
    },
    onUnknown: () => ({ kind: 'retry' }),
  }
}

function outcomeOf({ status, headers }: Response, now: number): SendOutcome {
  const reason = `HTTP ${status}`
  if (status >= 200 && status < 300) return { kind: 'sent', externalId: null }
  if (status >= 500 || passing.has(status)) {
    return { kind: 'retry', reason, afterMs: readDelay(Object.fromEntries(headers), now) ?? null }
  }
  return { kind: 'failed', reason: status < 400 ? `${reason}: redirects are not followed` : reason }
}

const callbackChannel = 'callback'

/** A call for each turn that processed messages (OUT-4). */
export function createCallbackItems(dependencies: {
  log: Pick<SessionLog, 'readTurn'>
  /** `channels`: limits the calls to these; empty means all. */
  settings: () => { url: string; channels: readonly string[] }
}): DeliveryChannel {
  const { log, settings } = dependencies

  async function toItem(session: DeliverySession, ended: LoggedEvent): Promise<OutgoingItem[]> {
    if (ended.type !== 'turn_ended' || ended.turnId === null) return []
    const payload = callOf(session, ended, await log.readTurn(session.id, ended.turnId))
    if (!payload) return []
    const { id: sessionId, userId } = session
    // Only the host: the path may contain a key, which readers of the outbox need not see.
    const address = new URL(settings().url).host
    return [{ userId, channel: callbackChannel, address, key: `turn:${ended.turnId}`, payload, sessionId }]
  }

  return {
    channel: callbackChannel,
    wants({ channel }) {
      const { channels } = settings()
      return !isWorkChannel(channel) && (channels.length === 0 || channels.includes(channel))
    },
    async toItems(session, events) {
      const items = await Promise.all(events.map((event) => toItem(session, event)))
      return items.flat()
    },
  }
}

/** Undefined for a turn that no message started. */
function callOf(session: DeliverySession, ended: LoggedEvent, turn: readonly LoggedEvent[]): Json | undefined {
  const started = turn.find((event) => event.type === 'turn_started')
  const end = turnEndOf(session.id, turn)
  if (!end || !started || started.messageIds.length === 0) return undefined
  return {
    event: 'message_processed',
    turn_id: end.turnId,
    session_id: session.id,
    channel: session.channel,
    contact: session.contact,
    message_ids: started.messageIds,
    text: end.text,
    outcome: end.outcome,
    model: end.model,
    cost_usd: end.costUsd,
    tool_calls: end.toolCalls.map(({ name, input, isError }) => ({ name, input, is_error: isError })),
    at: new Date(ended.at).toISOString(),
  }
}
