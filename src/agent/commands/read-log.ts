import type { LoggedEvent } from '../../sessions/session-event.ts'
import type { Session } from '../../sessions/sessions.ts'
import type { CommandServices } from './command-services.ts'

const firstWindow = 200
const mostEvents = 20_000

/**
 * The newest part of a session's log, oldest first, without what was rewound: as much of it as `isEnough` asks for,
 * where there is that much.
 */
export async function readLog(
  conversations: Pick<CommandServices['conversations'], 'history'>,
  { userId, id, lastSeq }: Session,
  isEnough: (visible: readonly LoggedEvent[]) => boolean,
): Promise<LoggedEvent[]> {
  for (let window = firstWindow; ; window = Math.min(window * 4, mostEvents)) {
    const after = Math.max(0, lastSeq - window)
    const visible = visibleOf(await conversations.history(userId, id, { after }))
    if (after === 0 || window === mostEvents || isEnough(visible)) return visible
  }
}

export interface SaidLine {
  who: 'user' | 'agent'
  text: string
  at: number
  turnId: string | null
  /** Words of others are in it, or were in sight when it was said. */
  isUntrusted: boolean
}

export function saidOf(events: readonly LoggedEvent[]): SaidLine[] {
  return events.flatMap((event): SaidLine[] => {
    if (event.type !== 'message_received' && event.type !== 'turn_ended') return []
    if (event.text.trim() === '') return []
    const { text, at, turnId, label } = event
    const who = event.type === 'turn_ended' ? 'agent' : 'user'
    return [{ who, text, at, turnId, isUntrusted: label === 'untrusted' }]
  })
}

/** The marks that can still be gone back to, newest first. */
export function marksOf(events: readonly LoggedEvent[]): string[] {
  return [...new Set(events.flatMap((event) => (event.type === 'marked' ? [event.name] : [])))].reverse()
}

function visibleOf(events: readonly LoggedEvent[]): LoggedEvent[] {
  const visible: LoggedEvent[] = []
  for (const event of events) {
    if (event.type !== 'rewound') visible.push(event)
    else while ((visible.at(-1)?.seq ?? 0) > event.toSeq) visible.pop()
  }
  return visible
}
