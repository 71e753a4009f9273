import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Database, Writer } from '../storage/database.ts'
import { copyReplaced } from './copy-replaced.ts'
import { editDetails } from './edit-details.ts'
import type { Facts, NewFact, WrittenFact } from './facts.ts'
import { forgetEverything } from './forget-everything.ts'
import { type Memories, selectMemories } from './memories.ts'
import { type Memory, type MemoryEdit, memoryFromRow } from './memory.ts'
import { restoreCopies } from './memory-copy.ts'
import { createMemoryJournal, type JournalEntry } from './memory-journal.ts'
import { findRepetitions } from './repetitions.ts'

/** Whoever asks for a change: the user themself (command line, page, HTTP), or the agent on its own account. */
export type ChangedBy = 'user' | 'agent'

export type CorrectionOutcome =
  | { ok: true; changeId: string; memory: Memory; alsoForgotten: readonly Memory[] }
  | { ok: false; reason: 'not_found' }
  /** The user wrote it: the agent can only propose. Nothing changed. */
  | { ok: false; reason: 'users_own'; memory: Memory }

export interface MemoryChange {
  id: string
  memoryId: string
  action: 'edited' | 'forgotten'
  madeBy: ChangedBy
  at: number
  undoUntil: number
  /** What it was before. */
  before: Memory
}

/**
 * Changing and forgetting. What was forgotten is found by nothing from that moment on; it lies only in the journal of
 * changes, from where it can come back for 30 days.
 */
export interface Corrections {
  edit(userId: string, id: string, edit: MemoryEdit, by: ChangedBy): Promise<CorrectionOutcome>
  /**
   * By id, or by exact title. What merely repeats the forgotten one goes with it (`alsoForgotten`): the passages of
   * conversations that it was told in, and what was extracted from them that says the same.
   */
  forget(userId: string, idOrTitle: string, by: ChangedBy): Promise<CorrectionOutcome>
  /** Writes a fact of the user's own. What it replaces can be brought back, and then it goes; null where it replaces nothing. */
  stateFact(fact: Omit<NewFact, 'source'>): Promise<{ written: WrittenFact; changeId: string | null }>
  /** The newest change, or that one. Undefined where there is none that can still be undone. */
  undo(userId: string, changeId?: string): Promise<MemoryChange | undefined>
  changes(userId: string, limit: number): Promise<MemoryChange[]>
  /** Erases what can no longer be undone, from tables, full text, vectors and the file itself. Returns how many. */
  purge(): Promise<number>
  /** Everything about it, at once and for good: no undo. See MEM-14. */
  forgetEverything(userId: string, about: string, signal?: AbortSignal): Promise<{ memories: number; events: number }>
}

export function createCorrections(dependencies: {
  database: Database
  clock: Clock
  ids: Ids
  memories: Memories
  facts: Pick<Facts, 'writeIn'>
  /** Told of the sessions in which words were forgotten: whoever keeps them in memory has to read them anew. */
  onSessionsChanged?: ((sessionIds: readonly string[]) => void) | undefined
}): Corrections {
  const { database, clock, ids, memories, facts } = dependencies
  const journal = createMemoryJournal({ clock, ids })

  return {
    async edit(userId, id, edit, by) {
      return await database.write(async (writer): Promise<CorrectionOutcome> => {
        const memory = await findIn(writer, userId, id)
        if (!memory) return { ok: false, reason: 'not_found' }
        if (by === 'agent' && isUsersOwn(memory)) return { ok: false, reason: 'users_own', memory }
        const changeId = await journal.record(writer, { memory, others: [], action: 'edited', by })
        const changed = await memories.editIn(writer, memory, edit)
        if (changed.content !== memory.content) await editDetails(writer, changed)
        return { ok: true, changeId, memory: changed, alsoForgotten: [] }
      })
    },

    async forget(userId, idOrTitle, by) {
      const known = (await memories.get(userId, idOrTitle)) ?? (await findByTitle(userId, idOrTitle))
      if (!known) return { ok: false, reason: 'not_found' }
      if (by === 'agent' && isUsersOwn(known)) return { ok: false, reason: 'users_own', memory: known }
      const repetitions = await findRepetitions(database, memories, known)
      return await database.write(async (writer): Promise<CorrectionOutcome> => {
        const memory = await findIn(writer, userId, known.id)
        // Somebody else forgot it in between.
        if (!memory) return { ok: false, reason: 'not_found' }
        const alsoForgotten: Memory[] = []
        for (const { id } of repetitions) {
          const repetition = await findIn(writer, userId, id)
          if (repetition && (by === 'user' || !isUsersOwn(repetition))) alsoForgotten.push(repetition)
        }
        const changeId = await journal.record(writer, { memory, others: alsoForgotten, action: 'forgotten', by })
        for (const gone of [memory, ...alsoForgotten]) await memories.removeIn(writer, gone)
        return { ok: true, changeId, memory, alsoForgotten }
      })
    },

    async stateFact(fact) {
      return await database.write(async (writer) => {
        const written = await facts.writeIn(writer, { ...fact, source: 'user' })
        if (written.outcome !== 'replaced') return { written, changeId: null }
        const replacement = written.fact.id
        const copies = await copyReplaced(writer, { userId: fact.userId, by: replacement, old: written.old.id })
        const changeId = await journal.recordReplaced(writer, { copies, replacement, by: 'user' })
        return { written, changeId }
      })
    },

    async undo(userId, changeId) {
      return await database.write(async (writer) => {
        const [entry] = await journal.list(writer, userId, { limit: 1, id: changeId })
        if (!entry) return undefined
        // An edited memory that was forgotten since comes back by undoing that first.
        if (entry.action === 'edited' && !(await findIn(writer, userId, entry.memoryId))) return undefined
        if (!(await takeBack(writer, userId, entry.replacement))) return undefined
        await restoreCopies(memories, writer, entry.copies)
        await journal.remove(writer, userId, entry.id)
        return changeOf(entry)
      })
    },

    async changes(userId, limit) {
      return (await journal.list(database.read, userId, { limit })).map(changeOf)
    },

    async purge() {
      const expired = await database.write((writer) => journal.emptyExpired(writer))
      if (expired === 0) return 0
      // Their rows go last: where this fails, the next purge finds them and does it again.
      await database.scrub()
      await database.write((writer) => journal.removeEmpty(writer))
      return expired
    },

    forgetEverything: (userId, about, signal) =>
      forgetEverything({
        database,
        memories,
        userId,
        about,
        signal,
        onSessionsChanged: dependencies.onSessionsChanged ?? (() => {}),
      }),
  }

  /** False where something newer stands in its place since: two values would be true at once. */
  async function takeBack(writer: Writer, userId: string, replacement: string | null): Promise<boolean> {
    const newer = replacement === null ? undefined : await findIn(writer, userId, replacement)
    if (!newer) return true
    if (newer.supersededAt !== null) return false
    await memories.removeIn(writer, newer)
    return true
  }

  /** Of several with that very title the newest. */
  async function findByTitle(userId: string, title: string): Promise<Memory | undefined> {
    const row = await selectMemories(database.read, userId)
      .where('title', '=', title)
      .orderBy('number', 'desc')
      .executeTakeFirst()
    return row && memoryFromRow(row)
  }
}

async function findIn(writer: Writer, userId: string, id: string): Promise<Memory | undefined> {
  const row = await selectMemories(writer, userId).where('id', '=', id).executeTakeFirst()
  return row && memoryFromRow(row)
}

/** What the user wrote, or had stored on their word: the agent may only propose to change it. */
function isUsersOwn(memory: Memory): boolean {
  return memory.source === 'user' || memory.label === 'owner'
}

function changeOf({ copies: [first], replacement: _, ...change }: JournalEntry): MemoryChange {
  return { ...change, before: first.memory }
}
