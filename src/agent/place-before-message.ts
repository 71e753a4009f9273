import { FamiliarError } from '../protocol/error.ts'
import type { SessionLog } from '../sessions/session-log.ts'

const pageSize = 500

/**
 * The place of the log before a message and those that were said together with it: what the conversation was when they came.
 * Most look for one of the newest, so it is searched from the end.
 */
export async function placeBeforeMessage(
  log: Pick<SessionLog, 'readBack' | 'readTurn'>,
  { sessionId, messageId }: { sessionId: string; messageId: string },
): Promise<number> {
  let before: number | undefined
  do {
    const events = await log.readBack(sessionId, { before, limit: pageSize })
    const found = events.find((event) => event.type === 'message_received' && event.messageId === messageId)
    if (found) {
      const turn = found.turnId === null ? [] : await log.readTurn(sessionId, found.turnId)
      return (turn[0]?.seq ?? found.seq) - 1
    }
    before = events[0]?.seq
  } while (before !== undefined && before > 1)
  throw new FamiliarError('not_found', 'There is no such message in the session')
}
