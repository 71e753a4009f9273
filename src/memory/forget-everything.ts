import { setImmediate } from 'node:timers/promises'
import { parseAnyJson } from '../base/json.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Json } from '../protocol/messages.ts'
import type { Database } from '../storage/database.ts'
import { cycleMark, type Memories, selectMemories } from './memories.ts'
import { type Memory, memoryFromRow } from './memory.ts'
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
  onSessionsChanged(sessionIds: readonly string[]): void
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
  options.onSessionsChanged(sessionIds)
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

function forgetIn(value: Json, mentions: Mentions): Json {
  if (typeof value === 'string') return mentions(value) ? forgotten : value
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return sameOr(value, (item) => forgetIn(item, mentions))
  const { replay, ...rest } = value
  const changed = Object.fromEntries(
    Object.entries(rest).map(([key, item]) => {
      if (free.has(key)) return [key, forgetAnywhere(item, mentions)]
      const isKept = structure.has(key) || (key === 'name' && namesTool(value))
      return [key, isKept ? item : forgetIn(item, mentions)]
    }),
  )
  const isSame = Object.keys(rest).every((key) => changed[key] === rest[key])
  if (replay === undefined) return isSame ? value : changed
  // A provider would reject a signature over a removed text.
  return isSame && !isMentionedIn(replay, mentions) ? value : changed
}

function forgetAnywhere(value: Json, mentions: Mentions): Json {
  if (typeof value === 'string') return mentions(value) ? forgotten : value
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return sameOr(value, (item) => forgetAnywhere(item, mentions))
  if (!isMentionedIn(value, mentions)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [mentions(key) ? forgotten : key, forgetAnywhere(item, mentions)]),
  )
}

function sameOr(items: Json[], change: (item: Json) => Json): Json[] {
  const changed = items.map(change)
  return changed.every((item, index) => item === items[index]) ? items : changed
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

/**
 * Page after page until one is empty; `work` gets each and returns where the next begins. It yields between pages:
 * reading a whole history takes seconds.
 */
async function everyPage<Row>(
  { signal }: Forgetting,
  read: (last: Row | undefined) => Promise<Row[]>,
  work: (rows: Row[]) => Promise<void>,
): Promise<void> {
  let last: Row | undefined
  do {
    signal?.throwIfAborted()
    await setImmediate()
    const rows = await read(last)
    await work(rows)
    last = rows.at(-1)
  } while (last !== undefined)
}

const rowsAtOnce = 100

/**
 * Removes the texts that mention it from the user's events and waiting messages, and drops the snapshots made of them.
 * Only here does a written event change: its sequence, kind and ids do not.
 */
async function forgetInConversations(forgetting: Forgetting): Promise<{ events: number; sessionIds: string[] }> {
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

/** Undefined if nothing has to change. A damaged row that mentions it is emptied: it cannot be read anyway. */
function withoutMentions(data: string, mentions: Mentions): string | undefined {
  const parsed = parseAnyJson(data)
  if (!parsed.ok) return mentions(data) ? '{}' : undefined
  const changed = forgetInRecord(parsed.value, mentions)
  return changed === undefined ? undefined : JSON.stringify(changed)
}

const forgetInWorkRowsAtOnce = 100

/**
 * Removes it from the tasks and results of sub-agents and client tools, which are copies of text in the conversations.
 */
async function forgetInWork(forgetting: Forgetting): Promise<void> {
  await forgetInSpawns(forgetting)
  await forgetInClientCalls(forgetting)
}

async function forgetInSpawns(forgetting: Forgetting): Promise<void> {
  const { database, userId, mentions } = forgetting
  await everyPage<{ id: string; request: string; result: string | null }>(
    forgetting,
    (last) =>
      database.read
        .selectFrom('spawns')
        .select(['id', 'request', 'result'])
        .where('user_id', '=', userId)
        .where('id', '>', last?.id ?? '')
        .orderBy('id')
        .limit(forgetInWorkRowsAtOnce)
        .execute(),
    async (page) => {
      for (const { id, ...row } of page) {
        const request = withoutMentions(row.request, mentions)
        const result = row.result === null ? undefined : withoutMentions(row.result, mentions)
        if (request === undefined && result === undefined) continue
        const changed = { ...(request !== undefined && { request }), ...(result !== undefined && { result }) }
        await database.write(async (writer) => {
          await writer.updateTable('spawns').set(changed).where('id', '=', id).execute()
        })
      }
    },
  )
}

async function forgetInClientCalls(forgetting: Forgetting): Promise<void> {
  const { database, userId, mentions } = forgetting
  await everyPage<{ session_id: string; call_id: string; arguments: string; result: string | null }>(
    forgetting,
    (last) =>
      database.read
        .selectFrom('client_calls')
        .select(['session_id', 'call_id', 'arguments', 'result'])
        .where('user_id', '=', userId)
        .where((where) =>
          where.or([
            where('session_id', '>', last?.session_id ?? ''),
            where.and([where('session_id', '=', last?.session_id ?? ''), where('call_id', '>', last?.call_id ?? '')]),
          ]),
        )
        .orderBy('session_id')
        .orderBy('call_id')
        .limit(forgetInWorkRowsAtOnce)
        .execute(),
    async (page) => {
      for (const row of page) {
        const given = withoutMentions(row.arguments, mentions)
        const result = row.result === null ? undefined : withoutMentions(row.result, mentions)
        if (given === undefined && result === undefined) continue
        const changed = { ...(given !== undefined && { arguments: given }), ...(result !== undefined && { result }) }
        await database.write(async (writer) => {
          await writer
            .updateTable('client_calls')
            .set(changed)
            .where('session_id', '=', row.session_id)
            .where('call_id', '=', row.call_id)
            .execute()
        })
      }
    },
  )
}

const forgetMemoriesRowsAtOnce = 200
const changesAtOnce = 20

/** Memories that mention it, those of files that it names, and the contents of the change journal. */
async function forgetMemories(forgetting: Forgetting, memories: Memories): Promise<number> {
  const { database, userId, mentions } = forgetting
  const ofFiles = await forgetFiles(forgetting)
  let count = 0
  await everyPage<Memory>(
    forgetting,
    async (last) => {
      let query = selectMemories(database.read, userId)
        .orderBy('created_at')
        .orderBy('id')
        .limit(forgetMemoriesRowsAtOnce)
      if (last) {
        query = query.where(({ eb, refTuple, tuple }) =>
          eb(refTuple('created_at', 'id'), '>', tuple(last.createdAt, last.id)),
        )
      }
      return (await query.execute()).map(memoryFromRow)
    },
    async (page) => {
      const found = page.filter((memory) => ofFiles.has(memory.id) || isAbout(memory, mentions))
      if (found.length === 0) return
      await database.write(async (writer) => {
        for (const memory of found) await memories.removeIn(writer, memory)
      })
      count += found.length
    },
  )
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
      await writer.deleteFrom('memory_files').where('user_id', '=', userId).where('id', '=', file.id).execute()
    })
  }
  return passages
}

async function forgetChanges(forgetting: Forgetting): Promise<void> {
  const { database, userId, mentions } = forgetting
  await everyPage<{ at: number; id: string; data: string }>(
    forgetting,
    async (last) => {
      let query = database.read.selectFrom('memory_changes').select(['at', 'id', 'data']).where('user_id', '=', userId)
      if (last) query = query.where(({ eb, refTuple, tuple }) => eb(refTuple('at', 'id'), '>', tuple(last.at, last.id)))
      return await query.orderBy('at').orderBy('id').limit(changesAtOnce).execute()
    },
    async (page) => {
      const found = page.filter(({ data }) => {
        const parsed = parseAnyJson(data)
        return parsed.ok ? isMentionedIn(parsed.value, mentions) : mentions(data)
      })
      if (found.length === 0) return
      const ids = found.map((change) => change.id)
      await database.write(async (writer) => {
        await writer.deleteFrom('memory_changes').where('user_id', '=', userId).where('id', 'in', ids).execute()
      })
    },
  )
}

/**
 * Aliases, declared attributes, speakers, tool topics, and progress marks: some hundreds of each. A mark that is only a
 * number reveals nothing.
 */
async function forgetNames({ database, userId, mentions, words }: Forgetting): Promise<void> {
  await database.write(async (writer) => {
    const aliases = await writer.selectFrom('entity_aliases').selectAll().where('user_id', '=', userId).execute()
    for (const { alias, alias_key, entity, entity_key } of aliases) {
      if (!mentions(alias) && !mentions(entity)) continue
      await writer
        .deleteFrom('entity_aliases')
        .where('user_id', '=', userId)
        .where('alias_key', '=', alias_key)
        .where('entity_key', '=', entity_key)
        .execute()
    }
    const attributes = await writer.selectFrom('fact_attributes').selectAll().where('user_id', '=', userId).execute()
    for (const { attribute_key } of attributes) {
      if (!mentions(attribute_key)) continue
      await writer
        .deleteFrom('fact_attributes')
        .where('user_id', '=', userId)
        .where('attribute_key', '=', attribute_key)
        .execute()
    }
    const speakers = await writer.selectFrom('memory_speakers').select('name').where('user_id', '=', userId).execute()
    for (const { name } of speakers) {
      if (!mentions(name)) continue
      await writer.deleteFrom('memory_speakers').where('user_id', '=', userId).where('name', '=', name).execute()
    }
    const topics = await writer
      .selectFrom('tool_weights')
      .select('topic')
      .distinct()
      .where('user_id', '=', userId)
      .execute()
    for (const { topic } of topics) {
      if (!words.has(topic) && !mentions(topic)) continue
      await writer.deleteFrom('tool_weights').where('user_id', '=', userId).where('topic', '=', topic).execute()
    }
    const marks = await writer.selectFrom('memory_marks').selectAll().where('user_id', '=', userId).execute()
    for (const { name, value } of marks) {
      if (name === cycleMark || (!mentions(name) && (/^\d*$/.test(value) || !mentions(value)))) continue
      await writer.deleteFrom('memory_marks').where('user_id', '=', userId).where('name', '=', name).execute()
    }
  })
}
