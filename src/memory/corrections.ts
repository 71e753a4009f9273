import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Database, Writer } from '../storage/database.ts'
import { commitmentBeginning, commitmentEnd } from './commitments.ts'
import { type Facts, factBeginning, type NewFact, type WrittenFact } from './facts.ts'
import { forgetEverything } from './forget-everything.ts'
import { copyMemory, createMemoryJournal, type JournalEntry, type MemoryCopy, restoreCopies } from './journal.ts'
import { findMemory, type Memories, selectMemories } from './memories.ts'
import { isRow, type Memory, type MemoryEdit, memoryFromRow } from './memory.ts'
import { findRepetitions } from './note-passages.ts'
import { valueKey, whatKey } from './words.ts'

/** The origin of a change: the user (command line, page, HTTP), or the agent on its own. */
export type ChangedBy = 'user' | 'agent'

export type CorrectionOutcome =
  | { ok: true; changeId: string; memory: Memory; alsoForgotten: readonly Memory[] }
  | { ok: false; reason: 'not_found' }
  /** It is the user's own: the agent can only propose. Nothing changed. */
  | { ok: false; reason: 'users_own'; memory: Memory }

/** `before` is the previous state. */
export type MemoryChange = Omit<JournalEntry, 'copies' | 'replacement'> & { before: Memory }

/**
 * Editing and forgetting. A forgotten memory is not found by anything; it remains only in the change journal, from
 * which it can be restored for 30 days.
 */
export type Corrections = ReturnType<typeof createCorrections>

export function createCorrections(dependencies: {
  database: Database
  clock: Clock
  ids: Ids
  memories: Memories
  facts: Pick<Facts, 'writeIn'>
  /** Called with the sessions in which text was forgotten: caches of them must be reloaded. */
  onSessionsChanged?: ((sessionIds: readonly string[]) => Promise<void> | void) | undefined
}) {
  const { database, clock, ids, memories, facts } = dependencies
  const journal = createMemoryJournal({ clock, ids })

  return {
    async edit(userId: string, id: string, edit: MemoryEdit, by: ChangedBy): Promise<CorrectionOutcome> {
      return await database.write(async (writer): Promise<CorrectionOutcome> => {
        const memory = await findMemory(writer, userId, id)
        if (!memory) return { ok: false, reason: 'not_found' }
        if (by === 'agent' && isUsersOwn(memory)) return { ok: false, reason: 'users_own', memory }
        const changeId = await journal.record(writer, { memory, others: [], action: 'edited', by })
        const changed = await memories.editIn(writer, memory, edit)
        if (changed.content !== memory.content) await editDetails(writer, changed)
        return { ok: true, changeId, memory: changed, alsoForgotten: [] }
      })
    },

    /**
     * By id, or by exact title. Repetitions are forgotten with it (`alsoForgotten`): the passages of conversations that
     * contain it, and extractions from them that say the same.
     */
    async forget(userId: string, idOrTitle: string, by: ChangedBy): Promise<CorrectionOutcome> {
      const known = (await memories.get(userId, idOrTitle)) ?? (await findByTitle(userId, idOrTitle))
      if (!known) return { ok: false, reason: 'not_found' }
      if (by === 'agent' && isUsersOwn(known)) return { ok: false, reason: 'users_own', memory: known }
      const repetitions = await findRepetitions(database, memories, known)
      return await database.write(async (writer): Promise<CorrectionOutcome> => {
        const memory = await findMemory(writer, userId, known.id)
        // Forgotten by another request in between.
        if (!memory) return { ok: false, reason: 'not_found' }
        const alsoForgotten: Memory[] = []
        for (const { id } of repetitions) {
          const repetition = await findMemory(writer, userId, id)
          if (repetition && (by === 'user' || !isUsersOwn(repetition))) alsoForgotten.push(repetition)
        }
        const changeId = await journal.record(writer, { memory, others: alsoForgotten, action: 'forgotten', by })
        for (const gone of [memory, ...alsoForgotten]) await memories.removeIn(writer, gone)
        return { ok: true, changeId, memory, alsoForgotten }
      })
    },

    /**
     * Writes a fact of the user's own. The replaced value can be restored, which removes the new one; null if it replaces
     * nothing.
     */
    async stateFact(fact: Omit<NewFact, 'source'>): Promise<{ written: WrittenFact; changeId: string | null }> {
      return await database.write(async (writer) => {
        const written = await facts.writeIn(writer, { ...fact, source: 'user' })
        if (written.outcome !== 'replaced') return { written, changeId: null }
        const replacement = written.fact.id
        const copies = await copyReplaced(writer, { userId: fact.userId, by: replacement, old: written.old.id })
        return { written, changeId: await journal.recordReplaced(writer, copies, replacement) }
      })
    },

    /** The newest change, or the given one. Undefined if none can be undone. */
    async undo(userId: string, changeId?: string): Promise<MemoryChange | undefined> {
      return await database.write(async (writer) => {
        const [entry] = await journal.list(writer, userId, { limit: 1, id: changeId })
        if (!entry) return undefined
        // An edited memory that was forgotten since is restored by undoing that first.
        if (entry.action === 'edited' && !(await findMemory(writer, userId, entry.memoryId))) return undefined
        if (!(await takeBack(writer, userId, entry.replacement))) return undefined
        await restoreCopies(memories, writer, entry.copies)
        await journal.remove(writer, userId, entry.id)
        return changeOf(entry)
      })
    },

    async changes(userId: string, limit: number): Promise<MemoryChange[]> {
      return (await journal.list(database.read, userId, { limit })).map(changeOf)
    },

    /** Erases what can no longer be undone, from tables, full text, vectors and the file itself. Returns how many. */
    async purge(): Promise<number> {
      const expired = await database.write((writer) => journal.emptyExpired(writer))
      if (expired === 0) return 0
      // Their rows are deleted last: if this fails, the next purge repeats it.
      await database.scrub()
      await database.write((writer) => journal.removeEmpty(writer))
      return expired
    },

    /** Everything about a subject, permanently and without undo. See MEM-14. */
    forgetEverything: (userId: string, about: string, signal?: AbortSignal) =>
      forgetEverything({
        database,
        memories,
        userId,
        about,
        signal,
        onSessionsChanged: dependencies.onSessionsChanged ?? (() => {}),
      }),
  }

  /** False if something newer replaced it since: two values would be true at once. */
  async function takeBack(writer: Writer, userId: string, replacement: string | null): Promise<boolean> {
    const newer = replacement === null ? undefined : await findMemory(writer, userId, replacement)
    if (!newer) return true
    if (newer.supersededAt !== null) return false
    await memories.removeIn(writer, newer)
    return true
  }

  /** The newest with exactly that title. */
  async function findByTitle(userId: string, title: string): Promise<Memory | undefined> {
    const row = await selectMemories(database.read, userId)
      .where('title', '=', title)
      .orderBy('number', 'desc')
      .executeTakeFirst()
    return row && memoryFromRow(row)
  }
}

/** Written or requested by the user: the agent may only propose to change it. */
function isUsersOwn(memory: Memory): boolean {
  return memory.source === 'user' || memory.label === 'owner'
}

function changeOf({ copies: [first], replacement: _, ...change }: JournalEntry): MemoryChange {
  return { ...change, before: first.memory }
}

/** The facts that a new fact just superseded, in their previous state. The old fact comes first. */
async function copyReplaced(
  writer: Writer,
  { userId, by, old }: { userId: string; by: string; old: string },
): Promise<MemoryCopy[]> {
  const rows = await selectMemories(writer, userId).where('superseded_by', '=', by).execute()
  const copies = await Array.fromAsync(rows, async (row): Promise<MemoryCopy> => {
    const { memory, details, edges } = await copyMemory(writer, memoryFromRow(row))
    const restored = details.map((detail) =>
      detail.table === 'facts' ? { ...detail, row: { ...detail.row, valid_to: null } } : detail,
    )
    return { memory: { ...memory, supersededAt: null, supersededBy: null }, details: restored, edges }
  })
  return copies.toSorted((one, other) => Number(other.memory.id === old) - Number(one.memory.id === old))
}

/**
 * If the content of a memory consists of details, they follow the edited content: the value of a fact, the object of a
 * commitment. Any other edit would create a contradiction and is rejected.
 */
async function editDetails(writer: Writer, { userId, id, kind, content }: Memory): Promise<void> {
  const its = isRow(userId, id)
  if (kind === 'fact') {
    const fact = await writer.selectFrom('facts').selectAll().where(its).executeTakeFirst()
    if (!fact) return
    const value = between(content, factBeginning(fact, content), '')
    await writer
      .updateTable('facts')
      .set({ value, value_key: valueKey(value) })
      .where(its)
      .execute()
  }
  if (kind === 'commitment') {
    const row = await writer.selectFrom('commitments').selectAll().where(its).executeTakeFirst()
    if (!row) return
    const what = between(content, commitmentBeginning(row), commitmentEnd(row))
    await writer
      .updateTable('commitments')
      .set({ what, what_key: whatKey(what) })
      .where(its)
      .execute()
  }
  if (kind === 'chunk' && (await writer.selectFrom('chunks').select('id').where(its).executeTakeFirst())) {
    throw new FamiliarError('bad_request', 'This is a passage of a file: change the file instead')
  }
}

function between(content: string, beginning: string, end: string): string {
  const inner = content.slice(beginning.length, content.length - end.length).trim()
  if (content.startsWith(beginning) && content.endsWith(end) && inner !== '') return inner
  throw new FamiliarError('bad_request', `Its text must have the form: ${beginning}…${end}`)
}
