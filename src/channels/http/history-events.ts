import type { HistoryEvent } from '../../protocol/api.ts'
import type { Json } from '../../protocol/json.ts'
import type { LoggedEvent } from '../../sessions/session-event.ts'
import { isoTime } from './iso-time.ts'

/** The log as a reader wants it: what was said, or, in full, every event with all that it holds. */
export function toHistoryEvents(events: readonly LoggedEvent[], options: { full: boolean }): HistoryEvent[] {
  return events.flatMap((event) => {
    const spoken = spokenBy(event)
    if (!spoken && !options.full) return []
    const { seq, turnId, at, type, ...data } = event
    return [
      {
        seq,
        at: isoTime(at),
        turn_id: turnId,
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
