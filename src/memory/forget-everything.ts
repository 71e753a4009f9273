import { type SqlBool, sql } from 'kysely'
import { parseAnyJson } from '../base/json.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Json } from '../protocol/messages.ts'
import type { Database } from '../storage/database.ts'
import type { MemoryChangeRow, MemoryRow, Tables } from '../storage/tables.ts'
import { cycleMark, isAfter, type Memories, pagesOf, selectMemories } from './memories.ts'
import { isRow, type Memory, memoryFromRow } from './memory.ts'
import { isMentionedIn, type Mentions, mentionsAny, ownNamesOf } from './names.ts'
import { foldedWords, foldText } from './words.ts'

const shortestPhrase = 2

/**
 * Removes everything of one user that mentions a subject, by any of its own names: memories with their details, the
 * change journal, names, and the words in that user's conversations. Then the file itself is scrubbed.
 *
 * It reads all of the user's data. Text that is said meanwhile may stay.
 */
export async function forgetEverything(options: {
  database: Database
  memories: Memories
  userId: string
  about: string
  signal?: AbortSignal | undefined
  /** Caches of these sessions must be reloaded: otherwise a snapshot would restore the text. */
  onSessionsChanged(sessionIds: readonly string[]): Promise<void> | void
}): Promise<{ memories: number; events: number }> {
  const { database, userId, about, signal } = options
  if (foldText(about).length < shortestPhrase) {
    throw new FamiliarError('bad_request', 'Enter at least two characters of the subject to forget')
  }
  const names = await ownNamesOf(database.read, userId, about)
  const phrases = [about, ...names.values()]
  const words = new Set(phrases.flatMap(foldedWords))
  const forgetting: Forgetting = { database, userId, mentions: mentionsAny(phrases), words, signal }
  // Conversations first: recent messages are not memories yet, and are learned from there.
  const { events, sessionIds } = await forgetInConversations(forgetting)
  await options.onSessionsChanged(sessionIds)
  await forgetInWork(forgetting)
  const memories = await forgetMemories(forgetting, options.memories)
  await forgetNames(forgetting)
  await database.scrub(signal)
  return { memories, events }
}

const forgotten = '[forgotten]'

/** The structure of the log: ids, kinds, and names of tools and models. Never user text. */
const structure = new Set(
  `type id messageId messageIds callId fromSessionId hash mediaType model provider tier source outcome stopReason effect
  about failure foundTools`.split(/\s+/),
)

/** Their content is free: no key in it has a meaning to us. */
const free = new Set(['input', 'metadata'])

/**
 * An event or inbox message with `[forgotten]` for every text that mentions it; undefined if none does. Ids, kinds and
 * tool names are kept, so it stays readable.
 */
export function forgetInRecord(record: Json, mentions: Mentions): Json | undefined {
  const changed = forgetIn(record, mentions)
  return changed === record ? undefined : changed
}

function forgetIn(value: Json, mentions: Mentions, isFree = false): Json {
  if (typeof value === 'string') return mentions(value) ? forgotten : value
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) {
    const items = value.map((item) => forgetIn(item, mentions, isFree))
    return items.every((item, index) => item === value[index]) ? value : items
  }
  if (isFree) {
    if (!isMentionedIn(value, mentions)) return value
    const entries = Object.entries(value)
    return Object.fromEntries(
      entries.map(([key, item]) => [mentions(key) ? forgotten : key, forgetIn(item, mentions, true)]),
    )
  }
  const { replay, ...rest } = value
  const changed = Object.fromEntries(
    Object.entries(rest).map(([key, item]) => {
      if (free.has(key)) return [key, forgetIn(item, mentions, true)]
      const isKept = structure.has(key) || (key === 'name' && namesTool(value))
      return [key, isKept ? item : forgetIn(item, mentions)]
    }),
  )
  const isSame = Object.keys(rest).every((key) => changed[key] === rest[key])
  if (replay === undefined) return isSame ? value : changed
  // A provider would reject a signature over a removed text.
  return isSame && !isMentionedIn(replay, mentions) ? value : changed
}

/** A tool call has arguments or a call id; a file or a mark has a name that a person chose. */
function namesTool(value: { [key: string]: Json }): boolean {
  return 'callId' in value || 'input' in value
}

/** A running removal: everything of one user that mentions a subject. */
interface Forgetting {
  database: Database
  userId: string
  mentions: Mentions
  /** The folded words of its names: for data stored by single words. */
  words: ReadonlySet<string>
  signal: AbortSignal | undefined
}

const rowsAtOnce = 100

/**
 * Removes the texts that mention it from the user's events and waiting messages, and drops the snapshots made of them.
 * Only here does a written event change: its sequence, kind and ids do not.
 */
async function forgetInConversations(forgetting: Forgetting): Promise<{ events: number; sessionIds: string[] }> {
  const { database, userId, mentions } = forgetting
  await forgetInRows(forgetting, { table: 'inbox', keys: ['user_id', 'key'], texts: ['data'] }, userId)
  const sessions = await database.read.selectFrom('sessions').select('id').where('user_id', '=', userId).execute()
  const sessionIds: string[] = []
  let events = 0
  for (const { id } of sessions) {
    const ofSession = { table: 'session_events', keys: ['session_id', 'seq'], texts: ['data'] } as const
    const changed = await forgetInRows(forgetting, ofSession, id)
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

/**
 * Removes it from the tasks and results of sub-agents and client tools, which are copies of text in the conversations.
 */
async function forgetInWork(forgetting: Forgetting): Promise<void> {
  const { userId } = forgetting
  await forgetInRows(forgetting, { table: 'spawns', keys: ['user_id', 'id'], texts: ['request', 'result'] }, userId)
  const calls = { table: 'client_calls', keys: ['user_id', 'session_id', 'call_id'], texts: ['arguments', 'result'] }
  await forgetInRows(forgetting, calls as TextTable, userId)
}

/** A table with texts of JSON. Its keys identify a row. */
interface TextTable {
  table: 'inbox' | 'session_events' | 'spawns' | 'client_calls'
  keys: readonly string[]
  texts: readonly string[]
}

type TextRow = Record<string, string | number | null>

/** In the rows whose first key is `owner`. Returns how many changed. */
async function forgetInRows(forgetting: Forgetting, { table, keys, texts }: TextTable, owner: string): Promise<number> {
  const { database, mentions, signal } = forgetting
  const key = sql.join(keys.map((name) => sql.ref(name)))
  let count = 0
  const pages = pagesOf<TextRow>(async (last) => {
    signal?.throwIfAborted()
    const after = last ? sql`and (${key}) > (${sql.join(keys.map((name) => last[name]))})` : sql``
    const { rows } = await sql<TextRow>`
      select ${sql.join([...keys, ...texts].map((name) => sql.ref(name)))} from ${sql.table(table)}
      where ${sql.ref(keys[0] ?? '')} = ${owner} ${after} order by ${key} limit ${rowsAtOnce}`.execute(database.read)
    return rows
  })
  for await (const page of pages) {
    const changed = page.flatMap((row) => {
      const without = texts.flatMap((name) => withoutMentions(row[name], mentions).map((text) => [name, text]))
      return without.length === 0 ? [] : [{ row, without: Object.fromEntries(without) }]
    })
    if (changed.length === 0) continue
    await database.write(async (writer) => {
      for (const { row, without } of changed) {
        const same = sql<SqlBool>`(${key}) = (${sql.join(keys.map((name) => row[name]))})`
        await writer.updateTable(table).set(without).where(same).execute()
      }
    })
    count += changed.length
  }
  return count
}

/** Empty if nothing has to change. A damaged text that mentions it is emptied: it cannot be read anyway. */
function withoutMentions(data: unknown, mentions: Mentions): string[] {
  if (typeof data !== 'string') return []
  const parsed = parseAnyJson(data)
  if (!parsed.ok) return mentions(data) ? ['{}'] : []
  const changed = forgetInRecord(parsed.value, mentions)
  return changed === undefined ? [] : [JSON.stringify(changed)]
}

const memoriesAtOnce = 200
const changesAtOnce = 20

/** Memories that mention it, those of files that it names, and the contents of the change journal. */
async function forgetMemories(forgetting: Forgetting, memories: Memories): Promise<number> {
  const { database, userId, mentions, signal } = forgetting
  const ofFiles = await forgetFiles(forgetting)
  let count = 0
  const pages = pagesOf<MemoryRow>((last) => {
    signal?.throwIfAborted()
    const query = selectMemories(database.read, userId).where(isAfter(last))
    return query.orderBy('created_at').orderBy('id').limit(memoriesAtOnce).execute()
  })
  for await (const page of pages) {
    const found = page.map(memoryFromRow).filter((memory) => ofFiles.has(memory.id) || isAbout(memory, mentions))
    if (found.length === 0) continue
    await database.write(async (writer) => {
      for (const memory of found) await memories.removeIn(writer, memory)
    })
    count += found.length
  }
  await forgetChanges(forgetting)
  return count
}

function isAbout({ content, title, category, tags, speaker }: Memory, mentions: Mentions): boolean {
  return [content, title, category, speaker, ...tags].some((text) => text !== null && mentions(text))
}

/** Returns the ids of their passages, whose memories are removed too. The files themselves stay. */
async function forgetFiles({ database, userId, mentions }: Forgetting): Promise<Set<string>> {
  const files = await database.read
    .selectFrom('memory_files')
    .select(['id', 'root', 'path'])
    .where('user_id', '=', userId)
    .execute()
  const passages = new Set<string>()
  for (const file of files.filter(({ root, path }) => mentions(root) || mentions(path))) {
    const rows = await database.read.selectFrom('chunks').select('id').where('file_id', '=', file.id).execute()
    for (const row of rows) passages.add(row.id)
    await database.write(async (writer) => {
      await writer.deleteFrom('memory_files').where(isRow(userId, file.id)).execute()
    })
  }
  return passages
}

async function forgetChanges({ database, userId, mentions, signal }: Forgetting): Promise<void> {
  const pages = pagesOf<Pick<MemoryChangeRow, 'at' | 'id' | 'data'>>((last) => {
    signal?.throwIfAborted()
    let query = database.read.selectFrom('memory_changes').select(['at', 'id', 'data']).where('user_id', '=', userId)
    if (last) query = query.where(sql<SqlBool>`(at, id) > (${last.at}, ${last.id})`)
    return query.orderBy('at').orderBy('id').limit(changesAtOnce).execute()
  })
  for await (const page of pages) {
    const found = page.filter(({ data }) => {
      const parsed = parseAnyJson(data)
      return parsed.ok ? isMentionedIn(parsed.value, mentions) : mentions(data)
    })
    if (found.length === 0) continue
    const ids = found.map((change) => change.id)
    await database.write(async (writer) => {
      await writer.deleteFrom('memory_changes').where('user_id', '=', userId).where('id', 'in', ids).execute()
    })
  }
}

/**
 * Aliases, declared attributes, speakers, tool topics, and progress marks: some hundreds of each. A mark that is only a
 * number reveals nothing.
 */
async function forgetNames({ database, userId, mentions, words }: Forgetting): Promise<void> {
  await database.write(async (writer) => {
    await forgetRows(
      'entity_aliases',
      ['alias_key', 'entity_key'],
      (row) => mentions(row.alias) || mentions(row.entity),
    )
    await forgetRows('fact_attributes', ['attribute_key'], (row) => mentions(row.attribute_key))
    await forgetRows('memory_speakers', ['name'], (row) => mentions(row.name))
    await forgetRows('tool_weights', ['topic', 'tool'], ({ topic }) => words.has(topic) || mentions(topic))
    await forgetRows('memory_marks', ['name'], ({ name, value }) => {
      return name !== cycleMark && (mentions(name) || (!/^\d*$/.test(value) && mentions(value)))
    })

    async function forgetRows<Table extends keyof Named>(
      table: Table,
      keys: readonly (keyof Named[Table] & string)[],
      isAbout: (row: Named[Table]) => boolean,
    ): Promise<void> {
      const rows: unknown[] = await writer
        .selectFrom(table as 'memory_speakers')
        .selectAll()
        .where('user_id', '=', userId)
        .execute()
      for (const row of rows as Named[Table][]) {
        if (!isAbout(row)) continue
        let query = writer.deleteFrom(table as 'memory_speakers').where('user_id', '=', userId)
        for (const key of keys) query = query.where(sql.ref(key), '=', row[key])
        await query.execute()
      }
    }
  })
}

type Named = Pick<Tables, 'entity_aliases' | 'fact_attributes' | 'memory_speakers' | 'tool_weights' | 'memory_marks'>
