import { textOf } from '../sessions/projection.ts'
import type { LoggedEvent } from '../sessions/session-event.ts'
import type { SessionLog } from '../sessions/session-log.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { HistoryEntry, OpenHistory } from '../tools/builtin/history-open.ts'

/** Pages back into the log, past every compaction. Reads events in steps from the end, never the whole log. */
export async function openHistory(
  dependencies: { log: SessionLog; sessions: Sessions },
  range: Parameters<OpenHistory>[0],
): Promise<HistoryEntry[]> {
  const session = await dependencies.sessions.get(range.userId, range.sessionId)
  if (!session) return []
  const step = Math.max(100, range.limit * 4)
  let end = range.before ?? session.lastSeq + 1
  let entries: HistoryEntry[] = []
  while (entries.length < range.limit && end > 1) {
    const after = Math.max(0, end - 1 - step)
    const { events } = await dependencies.log.read(session.id, { after, limit: end - 1 - after })
    entries = [...events.flatMap(entryOf), ...entries]
    end = after + 1
  }
  return entries.slice(-range.limit)
}

function entryOf(event: LoggedEvent): HistoryEntry[] {
  const { seq, at } = event
  switch (event.type) {
    case 'message_received':
      return [{ seq, at, role: 'user', text: event.text }]
    case 'model_responded': {
      const text = textOf(event.parts)
      return text ? [{ seq, at, role: 'assistant', text }] : []
    }
    case 'tool_finished':
      return [{ seq, at, role: 'tool', text: `${event.name}: ${event.text}` }]
    default:
      return []
  }
}
