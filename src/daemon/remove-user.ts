import { appendFile, copyFile, mkdir, open, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import type { Conversations } from '../agent/conversations.ts'
import type { SessionLog } from '../agent/sessions/session-log.ts'
import { sleep } from '../base/clock.ts'
import { hasCode } from '../base/files.ts'
import { sha256 } from '../base/ids.ts'
import type { Build } from '../custom-tools/builder/builds.ts'
import type { SharedPlace } from '../fleet/shared-files.ts'
import { toHistoryEvents } from '../http/chat-replies.ts'
import type { MemoryExport } from '../memory/transfer/export-memories.ts'
import { historyEventSchema } from '../protocol/api.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { toWire, type Wire } from '../protocol/operation.ts'
import { deleteUserRows, readUserRows, type Users } from '../security/users.ts'
import type { Database, Reader } from '../storage/database.ts'
import { profileDirectoryOf } from '../tools/builtin/browsers.ts'
import type { Essentials } from './daemon.ts'

interface RemovalNeeds extends Pick<Essentials, 'database' | 'paths' | 'clock'> {
  users: Users
  conversations: Pick<Conversations, 'stop'>
  log: Pick<SessionLog, 'read'>
  builds: { stop(userId: string, id: string): Promise<unknown> }
  exportMemories(request: MemoryExport): AsyncGenerator<string>
  /** Files in the shared place are deleted with those here. */
  shared: SharedPlace | undefined
}

const pauseMs = 100
const maxPauses = 100

/**
 * Removes a user: access revoked, work stopped, data exported, and then deleted from every table, index and file of the
 * home (USERS-1). If the export fails nothing is deleted; the user has no access until they get a new token. An
 * interrupted removal can be repeated. Earlier backups stay as they are.
 */
export function createRemoveUser(needs: RemovalNeeds) {
  const { database, users, conversations, paths, clock } = needs

  async function stopEverything(userId: string, signal: AbortSignal): Promise<void> {
    for (let pause = 0; pause < maxPauses; pause += 1) {
      const open = await findOpen(database, userId)
      if (open.builds.length === 0 && open.sessions.length === 0) return
      for (const build of open.builds) await needs.builds.stop(userId, build)
      // A message that waited behind a stopped one runs next: it is stopped at the next check.
      for (const session of open.sessions) await conversations.stop(userId, session).catch(unlessDeleted)
      await sleep(clock, pauseMs, signal)
    }
    throw new FamiliarError('conflict', 'Some of their work is still running; try again in a moment')
  }

  /** Before the rows: an interrupted deletion is found again at the next attempt. */
  async function deleteFiles(userId: string): Promise<string[]> {
    const media = await mediaOfUserAlone(database.read, userId)
    const selected = database.read.selectFrom('capabilities').select('id').where('user_id', '=', userId)
    const capabilities = (await selected.execute()).map(({ id }) => id)
    const files = [
      ...media.map((hash) => join(paths.media, hash)),
      ...capabilities.map((id) => join(paths.capabilities, id)),
      profileDirectoryOf(paths.browserProfiles, userId),
    ]
    for (const path of files) await rm(path, { recursive: true, force: true })
    const { shared } = needs
    if (!shared) return media
    for (const hash of media) await shared.media.delete(hash)
    for (const id of capabilities) {
      for (const name of await Array.fromAsync(shared.capabilities.list(`${id}/`)))
        await shared.capabilities.delete(name)
    }
    return media
  }

  return async ({ name, directory, signal }: { name: string; directory: string; signal: AbortSignal }) => {
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

/** A session that was deleted was also stopped. */
function unlessDeleted(cause: unknown): void {
  if (!(cause instanceof FamiliarError && cause.code === 'not_found')) throw cause
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

/** The files that a logged event or a waiting message refers to. */
function mediaHashesIn(json: string): string[] {
  return [...json.matchAll(/"hash":"([0-9a-f]{64})"/g)].map(([, hash = '']) => hash)
}

/** The files in conversations of this user only: each is stored once, whatever its sender. */
async function mediaOfUserAlone(read: Reader, userId: string): Promise<string[]> {
  const own = await texts(read, userId, sql`=`)
  const hashes = new Set(own.flatMap(mediaHashesIn))
  if (hashes.size === 0) return []
  for (const text of await texts(read, userId, sql`!=`)) for (const hash of mediaHashesIn(text)) hashes.delete(hash)
  return [...hashes]
}

async function texts(read: Reader, userId: string, is: ReturnType<typeof sql>): Promise<string[]> {
  const found = await sql<{ data: string }>`
    select data from session_events
    where session_id in (select id from sessions where user_id ${is} ${userId}) and data like '%"hash":"%'
    union all
    select data from inbox where user_id ${is} ${userId} and data like '%"hash":"%'`.execute(read)
  return found.rows.map(({ data }) => data)
}

const eventsPerPage = 500
const linesPerWrite = 500

/**
 * Writes all data of one user into a new or empty folder: conversations like `familiar export`, memories like `familiar
 * memory export`, sent files, and the rest table by table. Secrets and tokens are not included. When it resolves,
 * everything is on the disk. Returns the written files, sorted by name.
 */
async function exportUser(
  needs: RemovalNeeds,
  { userId, directory, signal }: { userId: string; directory: string; signal: AbortSignal },
): Promise<string[]> {
  await requireEmpty(directory)
  const files = new Set<string>()
  const hashes = new Set<string>()

  async function append(name: string, lines: readonly string[]): Promise<void> {
    if (lines.length === 0) return
    signal.throwIfAborted()
    await mkdir(dirname(join(directory, name)), { recursive: true, mode: 0o700 })
    await appendFile(join(directory, name), lines.map((line) => `${line}\n`).join(''), { mode: 0o600 })
    files.add(name)
  }

  const sessions = await needs.database.read.selectFrom('sessions').selectAll().where('user_id', '=', userId).execute()
  for (const { id: session_id, channel, contact } of sessions) {
    for (let after = 0; ; ) {
      // From the log: the user may have deleted the session, and it is still theirs.
      const { events: page } = await needs.log.read(session_id, { after, limit: eventsPerPage })
      const written = toHistoryEvents(page, { full: true }).map(
        (event) => toWire(historyEventSchema, event) as Wire<typeof historyEventSchema>,
      )
      const days = Map.groupBy(written, ({ at }) => at.slice(0, 'YYYY-MM-DD'.length))
      for (const [day, events] of days) {
        const lines = events.map(({ seq, at, turn_id, type, data }) =>
          JSON.stringify({ session_id, channel, contact, seq, at, turn_id, type, data }),
        )
        for (const line of lines) for (const hash of mediaHashesIn(line)) hashes.add(hash)
        await append(`${session_id}.${day}.jsonl`, lines)
      }
      if (page.length < eventsPerPage) break
      after = page.at(-1)?.seq ?? after
    }
  }
  const waiting: string[] = []
  for await (const line of needs.exportMemories({ userId, format: 'json', signal })) {
    waiting.push(line)
    if (waiting.length >= linesPerWrite) await append('memories.jsonl', waiting.splice(0))
  }
  await append('memories.jsonl', waiting)
  for await (const { table, rows } of readUserRows(needs.database, userId)) {
    const numbers = (_key: string, value: unknown) => (typeof value === 'bigint' ? Number(value) : value)
    const lines = rows.map((row) => JSON.stringify(row, numbers))
    await append(`tables/${table}.jsonl`, lines)
  }
  for (const hash of hashes) {
    const name = `media/${hash}`
    await mkdir(join(directory, 'media'), { recursive: true, mode: 0o700 })
    // A file that is already lost must not stop the rest.
    const isHere = await copyFile(join(needs.paths.media, hash), join(directory, name)).then(
      () => true,
      (cause) => {
        if (hasCode(cause, 'ENOENT')) return false
        throw cause
      },
    )
    const bytes = isHere ? undefined : await needs.shared?.media.get(hash)
    const isFetched = bytes !== undefined && sha256(bytes) === hash
    if (isFetched) await writeFile(join(directory, name), bytes, { mode: 0o600 })
    if (isHere || isFetched) files.add(name)
  }
  for (const name of files) await sync(join(directory, name))
  return [...files].sort()
}

async function sync(path: string): Promise<void> {
  await using file = await open(path, 'r')
  await file.sync()
}

async function requireEmpty(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch((cause) => {
    throw new FamiliarError('bad_request', `${directory} cannot be created`, { cause })
  })
  if ((await readdir(directory)).length === 0) return
  throw new FamiliarError('conflict', `${directory} is not empty; an export needs an empty folder`)
}
