import { turnEndOf } from '../../agent/turn-end.ts'
import type { Json } from '../../protocol/json.ts'
import type { LoggedEvent } from '../../sessions/session-event.ts'
import type { SessionLog } from '../../sessions/session-log.ts'
import { isWorkChannel } from '../../sessions/work-channels.ts'
import type { DeliveryChannel, DeliverySession } from '../deliveries/delivery-channel.ts'
import type { Outgoing } from '../outbox/outbox.ts'

export const callbackChannel = 'callback'

/** A call for each turn that worked through messages (OUT-4). */
export function createCallbackItems(dependencies: {
  log: Pick<SessionLog, 'readTurn'>
  /** `channels`: of which ones; all where none is named. */
  settings: () => { url: string; channels: readonly string[] }
}): DeliveryChannel {
  const { log, settings } = dependencies

  async function toItem(session: DeliverySession, ended: LoggedEvent): Promise<Outgoing[]> {
    if (ended.type !== 'turn_ended' || ended.turnId === null) return []
    const payload = callOf(session, ended, await log.readTurn(session.id, ended.turnId))
    if (!payload) return []
    const { id: sessionId, userId } = session
    // Only the host: whoever reads the list of what goes out need not learn a key that stands in the path.
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

/** Undefined for a turn that no message began. */
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
