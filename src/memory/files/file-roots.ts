import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, join, resolve } from 'node:path'
import type { Clock } from '../../base/clock.ts'
import type { Database } from '../../storage/database.ts'
import { fitsIndex, longestIndexedBytes } from '../../storage/index-key.ts'
import { describeFileError } from './walk-files.ts'

/** A file or folder that is indexed with all that is in it. */
export interface FileRoot {
  path: string
  /** Part of the workspace: always indexed, cannot be removed. */
  isWorkspace: boolean
}

export type AddedRoot =
  | { ok: true; root: FileRoot; isNew: boolean }
  | { ok: false; reason: 'forbidden' | 'not_found' | 'bad_path'; message: string }

export interface FileRoots {
  add(userId: string, path: string): Promise<AddedRoot>
  /** False where it was none, or belongs to the workspace. */
  remove(userId: string, path: string): Promise<boolean>
  /** The workspace's first, then outer ones before those inside them. */
  list(userId: string): Promise<FileRoot[]>
}

/** What each user asked to have indexed, kept across restarts. */
export function createFileRoots(dependencies: { database: Database; clock: Clock; workspace: string }): FileRoots {
  const { database, clock, workspace } = dependencies
  const ownRoots = [join(workspace, 'MEMORY.md'), join(workspace, 'memory')]

  return {
    async add(userId, given) {
      // The files of this machine are its owner's: what another user names would be read with the owner's rights.
      if (!(await isOwner(userId))) return { ok: false, reason: 'forbidden', message: 'Only an owner may add folders' }
      const found = await findPath(given)
      if (!found.ok) return found
      const { path } = found
      if (ownRoots.includes(path)) return { ok: true, root: { path, isWorkspace: true }, isNew: false }
      const isNew = await database.write(async (writer) => {
        const added = await writer
          .insertInto('memory_marks')
          .values({ user_id: userId, name: prefix + path, value: '', updated_at: clock.now() })
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirst()
        return Number(added.numInsertedOrUpdatedRows) > 0
      })
      return { ok: true, root: { path, isWorkspace: false }, isNew }
    },

    async remove(userId, given) {
      const found = await findPath(given)
      const names = [resolve(given), ...(found.ok ? [found.path] : [])].map((path) => prefix + path)
      const removed = await database.write((writer) =>
        writer.deleteFrom('memory_marks').where('user_id', '=', userId).where('name', 'in', names).executeTakeFirst(),
      )
      return Number(removed.numDeletedRows) > 0
    },

    async list(userId) {
      const rows = await database.read
        .selectFrom('memory_marks')
        .select('name')
        .where('user_id', '=', userId)
        .where('name', '>=', prefix)
        .where('name', '<', afterPrefix)
        .orderBy('name')
        .execute()
      const own = (await isOwner(userId)) ? ownRoots : []
      return [
        ...own.map((path) => ({ path, isWorkspace: true })),
        ...rows.map(({ name }) => ({ path: name.slice(prefix.length), isWorkspace: false })),
      ]
    },
  }

  async function isOwner(userId: string): Promise<boolean> {
    const user = await database.read.selectFrom('users').select('role').where('id', '=', userId).executeTakeFirst()
    return user?.role === 'owner'
  }
}

/** Of the marks that say which roots there are. */
const prefix = 'file_root:'
const afterPrefix = 'file_root;'
const longestPath = longestIndexedBytes - prefix.length

/** Without symlinks on the way, so that the same folder is the same root under each of its names. */
async function findPath(given: string): Promise<{ ok: true; path: string } | Extract<AddedRoot, { ok: false }>> {
  if (!isAbsolute(given)) return { ok: false, reason: 'bad_path', message: `Give the whole path of ${given}` }
  try {
    const path = await realpath(given)
    if (!fitsIndex(prefix + path)) {
      return { ok: false, reason: 'bad_path', message: `A path may have ${longestPath} bytes at most` }
    }
    const found = await stat(path)
    if (found.isFile() || found.isDirectory()) return { ok: true, path }
    return { ok: false, reason: 'bad_path', message: `${given} is neither a file nor a folder` }
  } catch (cause) {
    return { ok: false, reason: 'not_found', message: `${given}: ${describeFileError(cause).message}` }
  }
}
