import type { Clock } from '../../base/clock.ts'
import type { Ids } from '../../base/ids.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Database, Writer } from '../../storage/database.ts'
import { removeMessagesIn } from './message-index.ts'

export interface Folder {
  id: string
  name: string
}

const maxFolders = 200

export type Folders = ReturnType<typeof createFolders>

/** The folders in which users sort their conversations. A conversation is in one of them or in none. */
export function createFolders(dependencies: { database: Database; clock: Clock; ids: Ids }) {
  const { database, clock, ids } = dependencies

  async function requireFree(writer: Writer, userId: string, name: string): Promise<void> {
    const taken = await writer
      .selectFrom('session_folders')
      .select('id')
      .where('user_id', '=', userId)
      .where('name', '=', name)
      .executeTakeFirst()
    if (taken) throw new FamiliarError('conflict', `There is already a folder named ${name}`)
  }

  async function requireFolder(writer: Writer, userId: string, id: string): Promise<Folder> {
    const folder = await writer
      .selectFrom('session_folders')
      .select(['id', 'name'])
      .where('user_id', '=', userId)
      .where('id', '=', id)
      .executeTakeFirst()
    if (!folder) throw new FamiliarError('not_found', 'There is no such folder')
    return folder
  }

  return {
    /** In the order of their names. */
    async list(userId: string): Promise<Folder[]> {
      const folders = await database.read
        .selectFrom('session_folders')
        .select(['id', 'name'])
        .where('user_id', '=', userId)
        .execute()
      return folders.toSorted((one, other) => one.name.localeCompare(other.name))
    },
    add: (userId: string, name: string): Promise<Folder> =>
      database.write(async (writer) => {
        await requireFree(writer, userId, name)
        const { count } = await writer
          .selectFrom('session_folders')
          .select((select) => select.fn.countAll().as('count'))
          .where('user_id', '=', userId)
          .executeTakeFirstOrThrow()
        if (Number(count) >= maxFolders) {
          throw new FamiliarError('conflict', `There can be at most ${maxFolders} folders. Remove one first`)
        }
        const folder = { id: ids.next(), name }
        await writer
          .insertInto('session_folders')
          .values({ ...folder, user_id: userId, created_at: clock.now() })
          .execute()
        return folder
      }),
    rename: (userId: string, id: string, name: string): Promise<Folder> =>
      database.write(async (writer) => {
        const folder = await requireFolder(writer, userId, id)
        if (folder.name === name) return folder
        await requireFree(writer, userId, name)
        await writer.updateTable('session_folders').set({ name }).where('id', '=', id).execute()
        return { id, name }
      }),
    /** Its conversations are kept, outside of any folder. */
    remove: (userId: string, id: string): Promise<Folder> =>
      database.write(async (writer) => {
        const folder = await requireFolder(writer, userId, id)
        await writer.updateTable('session_views').set({ folder_id: null }).where('folder_id', '=', id).execute()
        await writer.deleteFrom('session_folders').where('id', '=', id).execute()
        return folder
      }),
    /** Moves sessions of the user, whom the caller has checked. Null: out of their folder. */
    move: (userId: string, sessionIds: readonly string[], folderId: string | null): Promise<void> =>
      database.write(async (writer) => {
        if (folderId !== null) await requireFolder(writer, userId, folderId)
        for (const id of sessionIds) {
          await writer
            .insertInto('session_views')
            .values({ session_id: id, title: null, read_seq: 0, folder_id: folderId })
            .onConflict((conflict) => conflict.column('session_id').doUpdateSet({ folder_id: folderId }))
            .execute()
        }
      }),
  }
}

/** How long a deleted conversation can be restored. */
export const restorableDays = 30

const sessionsPerPurge = 20

/**
 * Removes conversations for good that were deleted long ago, with the work of their sub-agents. Facts learned from
 * them, the audit trail and costs stay. Returns their number.
 */
export async function purgeDeleted(database: Database, now: number): Promise<number> {
  const before = now - restorableDays * 24 * 60 * 60_000
  let purged = 0
  for (;;) {
    const rows = await database.read
      .selectFrom('sessions')
      .select('id')
      .where('deleted_at', '<', before)
      .orderBy('deleted_at')
      .limit(sessionsPerPurge)
      .execute()
    for (const { id } of rows) await database.write((writer) => removeSession(database, writer, id))
    purged += rows.length
    if (rows.length < sessionsPerPurge) return purged
  }
}

async function removeSession(database: Database, writer: Writer, id: string): Promise<void> {
  const children = await writer
    .selectFrom('spawns')
    .innerJoin('sessions', 'sessions.contact', 'spawns.id')
    .select('sessions.id')
    .where('spawns.parent_session_id', '=', id)
    .whereRef('sessions.user_id', '=', 'spawns.user_id')
    .execute()
  for (const child of children) await removeSession(database, writer, child.id)
  await removeMessagesIn(database, writer, id)
  await writer.deleteFrom('spawns').where('parent_session_id', '=', id).execute()
  for (const table of tablesOfSession) await writer.deleteFrom(table).where('session_id', '=', id).execute()
  await writer.deleteFrom('sessions').where('id', '=', id).execute()
}

const tablesOfSession = [
  'client_calls',
  'approvals',
  'grants',
  'outbox',
  'delivery_cursors',
  'inbox',
  'session_holders',
  'session_views',
  'session_snapshots',
  'session_events',
] as const
