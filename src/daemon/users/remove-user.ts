import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Conversations } from '../../agent/conversations.ts'
import { type Clock, sleep } from '../../base/clock.ts'
import type { MemoryExport } from '../../memory/transfer/export-memories.ts'
import { deleteUserRows } from '../../policy/users/user-rows.ts'
import type { User, Users } from '../../policy/users/users.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { SharedPlace } from '../../storage/blobs/shared-place.ts'
import type { Database } from '../../storage/database.ts'
import { profileDirectoryOf } from '../../tools/builtin/browser/browsers.ts'
import type { Build } from '../../tools/capabilities/builds/builds.ts'
import { exportUser } from './export-user.ts'
import { mediaOfUserAlone } from './media-of-user.ts'

interface RemovedUser {
  user: User
  /** Where everything lies that they had, and the names of the files there. */
  directory: string
  files: string[]
}

type RemoveUser = (request: { name: string; directory: string; signal: AbortSignal }) => Promise<RemovedUser>

const pauseMs = 100
const mostPauses = 100

/**
 * Removes a user: shut out, stopped, exported, and then gone from every table, index and file of the home (USERS-1). Where
 * the export fails nothing is removed; the user stays shut out until they get a new token. What was begun and broken off
 * can be done again. Backups that were made before stay as they are.
 */
export function createRemoveUser(needs: {
  database: Database
  users: Users
  conversations: Pick<Conversations, 'history' | 'stop'>
  builds: { stop(userId: string, id: string): Promise<unknown> }
  exportMemories(request: MemoryExport): AsyncGenerator<string>
  mediaDirectory: string
  capabilitiesDirectory: string
  browserDirectory: string
  /** What lies there goes with what lies here. */
  shared?: SharedPlace | undefined
  clock: Clock
}): RemoveUser {
  const { database, users, conversations, clock } = needs

  async function stopEverything(userId: string, signal: AbortSignal): Promise<void> {
    for (let pause = 0; pause < mostPauses; pause += 1) {
      const open = await findOpen(database, userId)
      if (open.builds.length === 0 && open.sessions.length === 0) return
      for (const build of open.builds) await needs.builds.stop(userId, build)
      // A message that waited behind the one that is stopped has its turn then: it is stopped at the next look.
      for (const session of open.sessions) await conversations.stop(userId, session)
      await sleep(clock, pauseMs, signal)
    }
    throw new FamiliarError('conflict', 'Something of theirs is still under way; try again in a moment')
  }

  /** Before the rows: what was broken off here is found again at the next try. */
  async function deleteFiles(userId: string): Promise<string[]> {
    const media = await mediaOfUserAlone(database.read, userId)
    const selected = database.read.selectFrom('capabilities').select('id').where('user_id', '=', userId)
    const capabilities = (await selected.execute()).map(({ id }) => id)
    const paths = [
      ...media.map((hash) => join(needs.mediaDirectory, hash)),
      ...capabilities.map((id) => join(needs.capabilitiesDirectory, id)),
      profileDirectoryOf(needs.browserDirectory, userId),
    ]
    for (const path of paths) await rm(path, { recursive: true, force: true })
    if (needs.shared) await deleteShared(needs.shared, { media, capabilities })
    return media
  }

  return async ({ name, directory, signal }) => {
    const user = users.named(name)
    if (user.role === 'owner') throw new FamiliarError('bad_request', 'The owner cannot be removed')
    await users.shutOut(user.id)
    await stopEverything(user.id, signal)
    const files = await exportUser(needs, { userId: user.id, directory, signal })
    const media = await deleteFiles(user.id)
    await database.write(async (writer) => {
      if (media.length > 0) await writer.deleteFrom('media').where('hash', 'in', media).execute()
      await deleteUserRows(database, writer, user.id)
    })
    users.forget(user.id)
    await database.scrub(signal)
    return { user, directory, files }
  }
}

async function deleteShared(
  shared: SharedPlace,
  { media, capabilities }: { media: readonly string[]; capabilities: readonly string[] },
): Promise<void> {
  for (const hash of media) await shared.media.delete(hash)
  for (const id of capabilities) {
    for (const name of await Array.fromAsync(shared.capabilities.list(`${id}/`))) await shared.capabilities.delete(name)
  }
}

async function findOpen({ read }: Database, userId: string): Promise<{ sessions: string[]; builds: Build['id'][] }> {
  const builds = await read
    .selectFrom('builds')
    .select('id')
    .where('user_id', '=', userId)
    .where('state', '=', 'running')
    .execute()
  const messages = await read
    .selectFrom('inbox')
    .select('session_id')
    .distinct()
    .where('user_id', '=', userId)
    .where('state', '!=', 'done')
    .execute()
  return { sessions: messages.map((row) => row.session_id), builds: builds.map((row) => row.id) }
}
