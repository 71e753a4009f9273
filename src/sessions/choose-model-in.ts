import type { Writer } from '../storage/database.ts'
import type { SessionKey } from './sessions.ts'

/** Which model answers in the active session of the key, in the unit of the message that may just have made it. */
export async function chooseModelIn(writer: Writer, key: SessionKey, model: string): Promise<void> {
  await writer
    .updateTable('sessions')
    .set({ model })
    .where('user_id', '=', key.userId)
    .where('channel', '=', key.channel)
    .where('contact', '=', key.contact)
    .where('state', '=', 'active')
    .execute()
}
