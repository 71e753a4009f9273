import { parseAnyJson } from '../base/json.ts'
import { forgetInRecord } from './forget-in-json.ts'
import { everyPage, type Forgetting } from './forgetting.ts'
import type { Mentions } from './mentions.ts'

const rowsAtOnce = 100

/**
 * Takes the texts that mention it out of the user's events and waiting messages, and drops the snapshots made of them.
 * This is the one place where a written event changes: its place, kind and ids do not.
 */
export async function forgetInConversations(forgetting: Forgetting): Promise<{ events: number; sessionIds: string[] }> {
  const { database, userId, mentions } = forgetting
  await forgetInInbox(forgetting)
  const sessions = await database.read.selectFrom('sessions').select('id').where('user_id', '=', userId).execute()
  const sessionIds: string[] = []
  let events = 0
  for (const { id } of sessions) {
    const changed = await forgetInSession(forgetting, id)
    events += changed
    const snapshot = await database.read
      .selectFrom('session_snapshots')
      .select('data')
      .where('session_id', '=', id)
      .executeTakeFirst()
    if (changed === 0 && !(snapshot && mentions(snapshot.data))) continue
    sessionIds.push(id)
    await database.write(async (writer) => {
      await writer.deleteFrom('session_snapshots').where('session_id', '=', id).execute()
    })
  }
  return { events, sessionIds }
}

async function forgetInSession(forgetting: Forgetting, sessionId: string): Promise<number> {
  const { database, mentions } = forgetting
  let count = 0
  await everyPage<{ seq: number; data: string }>(
    forgetting,
    (last) =>
      database.read
        .selectFrom('session_events')
        .select(['seq', 'data'])
        .where('session_id', '=', sessionId)
        .where('seq', '>', last?.seq ?? 0)
        .orderBy('seq')
        .limit(rowsAtOnce)
        .execute(),
    async (page) => {
      const changed = page.flatMap(({ seq, data }) => {
        const without = withoutMentions(data, mentions)
        return without === undefined ? [] : [{ seq, data: without }]
      })
      if (changed.length === 0) return
      await database.write(async (writer) => {
        for (const { seq, data } of changed) {
          await writer
            .updateTable('session_events')
            .set({ data })
            .where('session_id', '=', sessionId)
            .where('seq', '=', seq)
            .execute()
        }
      })
      count += changed.length
    },
  )
  return count
}

async function forgetInInbox(forgetting: Forgetting): Promise<void> {
  const { database, userId, mentions } = forgetting
  await everyPage<{ key: string; data: string }>(
    forgetting,
    (last) =>
      database.read
        .selectFrom('inbox')
        .select(['key', 'data'])
        .where('user_id', '=', userId)
        .where('key', '>', last?.key ?? '')
        .orderBy('key')
        .limit(rowsAtOnce)
        .execute(),
    async (page) => {
      const changed = page.flatMap(({ key, data }) => {
        const without = withoutMentions(data, mentions)
        return without === undefined ? [] : [{ key, data: without }]
      })
      if (changed.length === 0) return
      await database.write(async (writer) => {
        for (const { key, data } of changed) {
          await writer.updateTable('inbox').set({ data }).where('user_id', '=', userId).where('key', '=', key).execute()
        }
      })
    },
  )
}

/** Undefined where nothing has to change. A damaged row that mentions it is emptied: nobody can read it anyway. */
export function withoutMentions(data: string, mentions: Mentions): string | undefined {
  const parsed = parseAnyJson(data)
  if (!parsed.ok) return mentions(data) ? '{}' : undefined
  const changed = forgetInRecord(parsed.value, mentions)
  return changed === undefined ? undefined : JSON.stringify(changed)
}
