import { appendFile, copyFile, mkdir, open, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Conversations } from '../../agent/conversations.ts'
import { sha256 } from '../../base/hash.ts'
import { toHistoryEvents } from '../../channels/http/history-events.ts'
import type { MemoryExport } from '../../memory/transfer/export-memories.ts'
import { readUserRows } from '../../policy/users/user-rows.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { SharedPlace } from '../../storage/blobs/shared-place.ts'
import type { Database } from '../../storage/database.ts'
import { mediaHashesIn } from './media-of-user.ts'

const eventsPerPage = 500
const linesPerWrite = 500

/**
 * Writes everything of one user into a folder that is new or empty: conversations as `familiar export` does, memories as
 * `familiar memory export` does, the files that were sent, and the rest table by table. Secrets and tokens are not in it.
 * When it resolves, all of it is on the disk. Returns what was written, in order of name.
 */
export async function exportUser(
  needs: {
    database: Database
    conversations: Pick<Conversations, 'history'>
    exportMemories(request: MemoryExport): AsyncGenerator<string>
    mediaDirectory: string
    shared?: Pick<SharedPlace, 'media'> | undefined
  },
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
      const page = await needs.conversations.history(userId, session_id, { after, limit: eventsPerPage })
      const days = Map.groupBy(toHistoryEvents(page, { full: true }), ({ at }) => at.slice(0, 'YYYY-MM-DD'.length))
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
    await append(`tables/${table}.jsonl`, rows.map(toLine))
  }
  for (const hash of hashes) {
    const name = `media/${hash}`
    await mkdir(join(directory, 'media'), { recursive: true, mode: 0o700 })
    // One that is lost already is no reason to keep the rest.
    const isHere = await copyFile(join(needs.mediaDirectory, hash), join(directory, name)).then(
      () => true,
      (cause) => ignoreAbsent(cause),
    )
    if (isHere || (await fetchMedia(needs.shared, hash, join(directory, name)))) files.add(name)
  }
  for (const name of files) await sync(join(directory, name))
  return [...files].sort()
}

async function fetchMedia(
  shared: Pick<SharedPlace, 'media'> | undefined,
  hash: string,
  path: string,
): Promise<boolean> {
  const bytes = await shared?.media.get(hash)
  if (!bytes || sha256(bytes) !== hash) return false
  await writeFile(path, bytes, { mode: 0o600 })
  return true
}

async function sync(path: string): Promise<void> {
  const file = await open(path, 'r')
  await file.sync().finally(() => file.close())
}

async function requireEmpty(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o700 }).catch((cause) => {
    throw new FamiliarError('bad_request', `${directory} cannot be made`, { cause })
  })
  if ((await readdir(directory)).length === 0) return
  throw new FamiliarError('conflict', `${directory} is not empty; what is exported needs a folder of its own`)
}

function toLine(row: Record<string, unknown>): string {
  return JSON.stringify(row, (_key, value) => (typeof value === 'bigint' ? Number(value) : value))
}

function ignoreAbsent(cause: unknown): false {
  if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return false
  throw cause
}
