import { setImmediate } from 'node:timers/promises'
import { type RawBuilder, type SqlBool, sql } from 'kysely'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { type Database, type Reader, reusableQuery, type Writer } from '../storage/database.ts'
import {
  checkContent,
  cleanCategory,
  cleanMemoryTitle,
  cleanTags,
  contentHash,
  filterConditions,
  isOf,
  isRow,
  type Memory,
  type MemoryEdit,
  type MemoryFilter,
  type MemoryKind,
  type MemoryLabel,
  type MemorySource,
  memoryFromRow,
  type NewMemory,
  type Optional,
  type Retention,
  rowFromMemory,
  searchedText,
  type UnstoredMemory,
} from './memory.ts'

interface AddedMemory {
  memory: Memory
  /** False if that user already had the same content of that kind: nothing changed, and this is the existing one. */
  isNew: boolean
}

/** Familiar's knowledge, stored verbatim. Every query is for one user and sees nothing of other users. */
export type Memories = ReturnType<typeof createMemories>

/** The days that a text written at that time refers to, if any: "yesterday", "on 3 May". */
export type ReadDates = (text: string, at: number) => { from: number; until: number } | undefined

interface MemoryPage {
  limit: number
  kinds?: readonly MemoryKind[] | undefined
  filter?: MemoryFilter | undefined
  before?: { createdAt: number; id: string } | undefined
}

/** The text search collection of all memories except superseded ones. */
export const memoryCollection = 'memories'
/** The collection of facts only, including history: so that all facts are found among a million passages. */
export const factCollection = 'facts'
export const cycleMark = 'cycles'
export const usualPriority: Record<Retention, number> = { short_term: 0.5, long_term: 0.8 }

export function createMemories(dependencies: {
  database: Database
  clock: Clock
  ids: Ids
  readDates?: ReadDates | undefined
  /** Called for every added or changed memory, inside the write unit. */
  onWritten?: (() => void) | undefined
}) {
  const { database, clock, ids, readDates, onWritten } = dependencies
  const memories = {
    add: (memory: NewMemory): Promise<AddedMemory> => database.write((writer) => memories.addIn(writer, memory)),

    /** As part of a larger write unit. The embedding follows once the unit is committed. */
    async addIn(writer: Writer, given: NewMemory): Promise<AddedMemory> {
      const content = checkContent(given.content)
      const known = await findKnown(writer, given, content)
      if (known) return { memory: memoryFromRow(known), isNew: false }
      const createdAt = given.at ?? clock.now()
      const dates = readDates?.(content, createdAt)
      const memory = buildMemory({
        ...given,
        id: await freeId(writer, given.id),
        content,
        happenedFrom: dates?.from,
        happenedUntil: dates?.until,
        createdAt,
        cycle: await readCycle(writer, given.userId),
      })
      return { memory: await memories.insertIn(writer, memory), isNew: true }
    },

    /** Unchanged, under its id: for a restored one. Only its number is new. */
    async insertIn(writer: Writer, memory: UnstoredMemory): Promise<Memory> {
      // Not `returning`: in SQLite that opens a savepoint, at which the full-text index is flushed for each memory.
      // Many memories in one unit would take twice the time.
      await writer.insertInto('memories').values(rowFromMemory(memory)).execute()
      const { number } = await writer
        .selectFrom('memories')
        .select('number')
        .where('id', '=', memory.id)
        .executeTakeFirstOrThrow()
      await indexMemory(database, writer, memory)
      await writeTags(writer, { ...memory, number })
      await noteSpeaker(writer, memory)
      onWritten?.()
      return { ...memory, number }
    },

    get: (userId: string, id: string) => findMemory(database.read, userId, id),

    /** Whether there are any, of that kind or of all. */
    async hasAny(userId: string, kind?: MemoryKind): Promise<boolean> {
      const found = kind
        ? await firstOfKind(database.read, { userId, kind })
        : await firstOfUser(database.read, { userId })
      return found.rows.length > 0
    },

    /** In the order of the ids; unknown ones are omitted. */
    async getMany(userId: string, wanted: readonly string[]): Promise<Memory[]> {
      if (wanted.length === 0) return []
      const rows = await database.read
        .selectFrom('memories')
        .selectAll()
        .where('id', 'in', wanted)
        .where(isOf(userId))
        .execute()
      const byId = new Map(rows.map((row) => [row.id, memoryFromRow(row)]))
      return wanted.flatMap((id) => byId.get(id) ?? [])
    },

    /** Newest first, without superseded ones. `before` is the last memory of the previous page. */
    async list(userId: string, { limit, kinds, filter = {}, before }: MemoryPage): Promise<Memory[]> {
      const found: Memory[] = []
      // One query per kind, so that each uses its own index and ends after a page.
      for (const kind of new Set(kinds ?? [undefined])) {
        let query = selectMemories(database.read, userId).where('superseded_at', 'is', null)
        if (kind) query = query.where('kind', '=', kind)
        for (const condition of filterConditions(userId, filter)) query = query.where(condition)
        if (before) query = query.where(sql<SqlBool>`(created_at, id) < (${before.createdAt}, ${before.id})`)
        const rows = await query.orderBy('created_at', 'desc').orderBy('id', 'desc').limit(limit).execute()
        found.push(...rows.map(memoryFromRow))
      }
      return found.toSorted(newestFirst).slice(0, limit)
    },

    /** They were useful: that strengthens them. Unknown ids are ignored. */
    used: (userId: string, wanted: readonly string[]): Promise<void> =>
      database.write((writer) => memories.usedIn(writer, userId, wanted)),

    async usedIn(writer: Writer, userId: string, wanted: readonly string[]): Promise<void> {
      if (wanted.length === 0) return
      await writer
        .updateTable('memories')
        .set((expression) => ({ used_at: clock.now(), use_count: expression('use_count', '+', 1) }))
        .where('id', 'in', [...new Set(wanted)])
        .where(isOf(userId))
        .execute()
    },

    /** The caller decides whether it may be edited, and updates the details of its kind. */
    async editIn(writer: Writer, memory: Memory, edit: MemoryEdit): Promise<Memory> {
      const now = clock.now()
      const content = edit.content === undefined ? memory.content : checkContent(edit.content)
      const dates = content === memory.content ? undefined : { now: readDates?.(content, now) }
      const edited: Memory = {
        ...memory,
        content,
        title: edit.title === undefined ? memory.title : cleanMemoryTitle(edit.title),
        category: edit.category === undefined ? memory.category : cleanCategory(edit.category),
        tags: edit.tags === undefined ? memory.tags : cleanTags(edit.tags),
        tier: edit.tier ?? memory.tier,
        source: edit.source ?? memory.source,
        label: edit.label ?? memory.label,
        happenedFrom: dates ? (dates.now?.from ?? null) : memory.happenedFrom,
        happenedUntil: dates ? (dates.now?.until ?? null) : memory.happenedUntil,
        updatedAt: now,
      }
      if (edit.priority !== undefined) {
        // A new priority decays from now on.
        edited.priority = asShare(edit.priority)
        edited.usedAt = now
        edited.cycle = await readCycle(writer, memory.userId)
      }
      await memories.replaceIn(writer, edited)
      return edited
    },

    /** Replaces the stored memory: row, full text; the embedding follows. */
    async replaceIn(writer: Writer, memory: Memory): Promise<void> {
      const { id, user_id, ...changed } = rowFromMemory(memory)
      const { number } = memory
      await writer.updateTable('memories').set(changed).where(isRow(user_id, id)).execute()
      await writer.deleteFrom('memory_vectors').where('number', '=', number).where('user_id', '=', user_id).execute()
      await writer.deleteFrom('memory_tags').where('number', '=', number).execute()
      await writeTags(writer, memory)
      await indexMemory(database, writer, memory)
      onWritten?.()
    },

    /** Something newer replaced it: from now on it is history, which no search finds. */
    async supersedeIn(writer: Writer, { userId, id, by }: { userId: string; id: string; by: string }): Promise<void> {
      const changed = await writer
        .updateTable('memories')
        .set({ superseded_at: clock.now(), superseded_by: by })
        .where(isRow(userId, id))
        .executeTakeFirst()
      if (Number(changed.numUpdatedRows) === 0) return
      await database.textSearch.remove(writer, { collection: memoryCollection, id })
    },

    /** With its details, edges, vectors and full text. */
    async removeIn(writer: Writer, { userId, id }: Pick<Memory, 'userId' | 'id'>): Promise<void> {
      const removed = await writer.deleteFrom('memories').where(isRow(userId, id)).returning('kind').executeTakeFirst()
      if (!removed) return
      await database.textSearch.remove(writer, { collection: memoryCollection, id })
      if (removed.kind === 'fact') await database.textSearch.remove(writer, { collection: factCollection, id })
    },

    /** The user's cycle count, for the policy `cycles`. */
    cycle: (userId: string) => readCycle(database.read, userId),

    /** Increments the count, the only write whatever the number of memories. Returns the new count. */
    async nextCycle(userId: string): Promise<number> {
      return await database.write(async (writer) => {
        const next = (await readCycle(writer, userId)) + 1
        await writeMark(writer, { userId, name: cycleMark, value: String(next), at: clock.now() })
        return next
      })
    },
  }
  return memories

  /** The wanted id, unless it belongs to another memory: derived ids are short and may collide. */
  async function freeId(writer: Writer, wanted: string | undefined): Promise<string> {
    if (wanted === undefined) return ids.next()
    const taken = await writer.selectFrom('memories').select('id').where('id', '=', wanted).executeTakeFirst()
    return taken ? ids.next() : wanted
  }
}

/** With the usual values for what is not given. */
export function buildMemory(given: GivenMemory): UnstoredMemory {
  const { id, userId, kind, content, source, createdAt, cycle, tier = 'long_term' } = given
  return {
    id,
    userId,
    kind,
    content,
    title: cleanMemoryTitle(given.title),
    category: cleanCategory(given.category),
    tags: cleanTags(given.tags ?? []),
    tier,
    priority: asShare(given.priority ?? usualPriority[tier]),
    source,
    label: given.label ?? usualLabel(source),
    sessionId: given.sessionId ?? null,
    turnId: given.turnId ?? null,
    threadId: given.threadId ?? null,
    position: given.position ?? null,
    passages: given.passages ?? 1,
    speaker: given.speaker ?? null,
    happenedFrom: given.happenedFrom ?? null,
    happenedUntil: given.happenedUntil ?? null,
    createdAt,
    updatedAt: given.updatedAt ?? createdAt,
    usedAt: given.usedAt ?? createdAt,
    useCount: given.useCount ?? 0,
    cycle,
    supersededAt: given.supersededAt ?? null,
    supersededBy: given.supersededBy ?? null,
  }
}

type GivenMemory = Pick<Memory, 'id' | 'userId' | 'kind' | 'content' | 'source' | 'createdAt' | 'cycle'> &
  Optional<keyof UnstoredMemory>

export function usualLabel(source: MemorySource): MemoryLabel {
  return source === 'user' ? 'owner' : 'internal'
}

/** Passages may have equal text: for them only the same cause makes it the same memory. */
async function findKnown(writer: Writer, { userId, kind, id }: NewMemory, content: string) {
  if (kind === 'chunk' && id === undefined) return undefined
  let query = selectMemories(writer, userId)
    .where('content_hash', '=', contentHash(content))
    .where('kind', '=', kind)
    .where('superseded_at', 'is', null)
  if (kind === 'chunk' && id !== undefined) query = query.where('id', '=', id)
  return await query.executeTakeFirst()
}

// Asked at the start of every turn.
const firstOfUser = reusableQuery((database, { userId }: { userId: string }) =>
  database.selectFrom('memories').select('number').where('user_id', '=', userId).limit(1),
)
const firstOfKind = reusableQuery((database, { userId, kind }: { userId: string; kind: MemoryKind }) =>
  database.selectFrom('memories').select('number').where('user_id', '=', userId).where('kind', '=', kind).limit(1),
)

export function selectMemories(reader: Reader | Writer, userId: string) {
  return reader.selectFrom('memories').selectAll().where('user_id', '=', userId)
}

/** Page after page until one is empty. `read` gets the last row of the page before. */
export async function* pagesOf<Row>(read: (last: Row | undefined) => Promise<Row[]>): AsyncGenerator<Row[]> {
  let last: Row | undefined
  do {
    // Yields to everything else.
    await setImmediate()
    const rows = await read(last)
    if (rows.length > 0) yield rows
    last = rows.at(-1)
  } while (last !== undefined)
}

/** Memories after this one in the order of `created_at` and `id`. */
export function isAfter(last: { created_at: number; id: string } | undefined): RawBuilder<SqlBool> {
  return last ? sql<SqlBool>`(created_at, id) > (${last.created_at}, ${last.id})` : sql<SqlBool>`1 = 1`
}

export async function findMemory(reader: Reader | Writer, userId: string, id: string): Promise<Memory | undefined> {
  const row = await selectMemories(reader, userId).where('id', '=', id).executeTakeFirst()
  return row && memoryFromRow(row)
}

function newestFirst(a: Memory, b: Memory): number {
  return b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)
}

async function writeTags(writer: Writer, { userId, number, tags }: Memory): Promise<void> {
  if (tags.length === 0) return
  const rows = [...new Set(tags)].map((tag) => ({ user_id: userId, tag, number }))
  await writer.insertInto('memory_tags').values(rows).execute()
}

export async function indexMemory(
  database: Pick<Database, 'textSearch'>,
  writer: Writer,
  memory: UnstoredMemory,
): Promise<void> {
  const { userId, id } = memory
  const entry = { userId, id, text: searchedText(memory) }
  if (memory.kind === 'fact') await database.textSearch.index(writer, { collection: factCollection, ...entry })
  // History would crowd out its replacement.
  if (memory.supersededAt !== null) await database.textSearch.remove(writer, { collection: memoryCollection, id })
  else await database.textSearch.index(writer, { collection: memoryCollection, ...entry })
}

async function readCycle(reader: Reader | Writer, userId: string): Promise<number> {
  return Number((await readMark(reader, userId, cycleMark)) ?? 0)
}

/** The progress of a background task for one user; undefined before its first step. */
export async function readMark(reader: Reader | Writer, userId: string, name: string): Promise<string | undefined> {
  const row = await reader
    .selectFrom('memory_marks')
    .select('value')
    .where('user_id', '=', userId)
    .where('name', '=', name)
    .executeTakeFirst()
  return row?.value
}

/** In the unit that writes the results of the mark's progress: both are committed, or neither. */
export async function writeMark(
  writer: Writer,
  { userId, name, value, at }: { userId: string; name: string; value: string; at: number },
): Promise<void> {
  const mark = { value, updated_at: at }
  await writer
    .insertInto('memory_marks')
    .values({ user_id: userId, name, ...mark })
    .onConflict((conflict) => conflict.columns(['user_id', 'name']).doUpdateSet(mark))
    .execute()
}

/** How far a task in the background has read each session. `markOf` names its marks. */
export function createProgress(
  { database, clock }: { database: Database; clock: Clock },
  markOf: (sessionId: string) => string,
) {
  const progress = {
    /** A sequence number; zero before the first step, and for an unreadable mark. */
    async through(userId: string, sessionId: string, reader: Reader | Writer = database.read): Promise<number> {
      const seq = Number(await readMark(reader, userId, markOf(sessionId)))
      return Number.isSafeInteger(seq) && seq > 0 ? seq : 0
    },

    /** In the unit that writes the results. False if it was that far already. */
    async passIn(writer: Writer, userId: string, sessionId: string, seq: number): Promise<boolean> {
      if ((await progress.through(userId, sessionId, writer)) >= seq) return false
      await writeMark(writer, { userId, name: markOf(sessionId), value: String(seq), at: clock.now() })
      return true
    },

    /** Up to here the session contains nothing for the task, or the user does not want it. */
    async passOver(userId: string, sessionId: string, seq: number): Promise<void> {
      if ((await progress.through(userId, sessionId)) >= seq) return
      await database.write((writer) => progress.passIn(writer, userId, sessionId, seq))
    },
  }
  return progress
}

function asShare(value: number): number {
  return Math.min(1, Math.max(0, value))
}

/** Names only: every conversation has a user and an assistant. */
async function noteSpeaker(writer: Writer, { userId, speaker }: Pick<Memory, 'userId' | 'speaker'>): Promise<void> {
  if (speaker === null || speaker === 'user' || speaker === 'assistant') return
  await writer
    .insertInto('memory_speakers')
    .values({ user_id: userId, name: speaker })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}
