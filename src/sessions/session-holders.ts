import { FamiliarError } from '../protocol/error.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'

/** Another daemon runs the session's turns now: what this one still has to say of them is not taken. */
export class HeldElsewhere extends FamiliarError {
  constructor(sessionId: string) {
    super('conflict', `Session ${sessionId} is held by another daemon`)
  }
}

/**
 * Which daemon runs the turns of a session, where several share the work. A daemon that was taken for dead and is not finds
 * out here: in the same unit in which it would have written to the turn.
 */
export interface SessionHolders {
  /** From now on it is this daemon. */
  take(sessionId: string): Promise<void>
  /** Whether it is this daemon, as far as is known. */
  has(sessionId: string): Promise<boolean>
  /** Throws `HeldElsewhere` where it is another one. */
  requireIn(writer: Writer, sessionId: string): Promise<void>
}

export function createSessionHolders({
  database,
  daemonId,
}: {
  database: Pick<Database, 'read' | 'write'>
  daemonId: string
}): SessionHolders {
  async function has(sessionId: string): Promise<boolean> {
    const holder = await holderOf(database.read, sessionId).executeTakeFirst()
    return holder?.daemon_id === daemonId
  }

  return {
    has,
    async take(sessionId) {
      // Mostly it is this one already. Whoever takes it from now on is found out by `requireIn`.
      if (await has(sessionId)) return
      await database.write(
        (writer) =>
          writer
            .insertInto('session_holders')
            .values({ session_id: sessionId, daemon_id: daemonId })
            .onConflict((conflict) => conflict.column('session_id').doUpdateSet({ daemon_id: daemonId }))
            .execute(),
        { meets: 'rows' },
      )
    },
    async requireIn(writer, sessionId) {
      // Locked until the unit ends: who takes the session waits for it, and so reads what it has written.
      const holder = await holderOf(writer, sessionId).forShare().executeTakeFirst()
      if (holder?.daemon_id !== daemonId) throw new HeldElsewhere(sessionId)
    },
  }
}

function holderOf(reader: Reader, sessionId: string) {
  return reader.selectFrom('session_holders').select('daemon_id').where('session_id', '=', sessionId)
}
