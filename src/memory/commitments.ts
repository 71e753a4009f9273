import type { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { commitmentReplySchema } from '../protocol/memory.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'
import type { CommitmentRow } from '../storage/tables.ts'
import { createMemoryJournal } from './journal.ts'
import { type Memories, selectMemories } from './memories.ts'
import { cleanLine, isRow, type MemoryLabel, memoryFromRow, type Origin, originOf, requireLine } from './memory.ts'
import { allNamesOf, oneName } from './names.ts'
import { entityKey, whatKey } from './words.ts'

/** An open commitment whose deadline has passed reads as `expired`. */
export type Commitment = z.infer<typeof commitmentReplySchema> & { userId: string; label: MemoryLabel }
export type CommitmentState = Commitment['state']

export interface NewCommitment extends Origin {
  userId: string
  who: string
  toWhom?: string | undefined
  what: string
  deadline?: number | undefined
}

/** Promises. The memory of the same id reads `WHO owes TO: WHAT, by DATE`. */
export type Commitments = ReturnType<typeof createCommitments>

interface CommitmentQuestion {
  userId: string
  states?: readonly CommitmentState[] | undefined
  who?: string | undefined
  toWhom?: string | undefined
  limit: number
}

interface CommitmentChange {
  state?: Exclude<CommitmentState, 'expired'> | undefined
  deadline?: number | null | undefined
}

interface AddedCommitment {
  commitment: Commitment
  isNew: boolean
}

const maxNameLength = 200
const maxWhatLength = 2_000

export function createCommitments(dependencies: { database: Database; clock: Clock; ids: Ids; memories: Memories }) {
  const { database, clock, memories } = dependencies
  const journal = createMemoryJournal(dependencies)

  const commitments = {
    add: (commitment: NewCommitment): Promise<AddedCommitment> =>
      database.write((writer) => commitments.addIn(writer, commitment)),

    async addIn(writer: Writer, given: NewCommitment): Promise<AddedCommitment> {
      const debtor = requireLine(given.who, { what: 'Who owes', longest: maxNameLength })
      const who = await oneName(writer, given.userId, debtor)
      const toWhom = cleanLine(given.toWhom, maxNameLength)
      const owed = toWhom === null ? null : await oneName(writer, given.userId, toWhom)
      const what = requireLine(given.what, { what: 'A commitment', longest: maxWhatLength })
      const proposed: Omit<CommitmentRow, 'id'> = {
        user_id: given.userId,
        who,
        who_key: entityKey(who),
        to_whom: owed,
        to_whom_key: owed === null ? null : entityKey(owed),
        what,
        what_key: whatKey(what),
        deadline: given.deadline ?? null,
        state: 'open',
        closed_at: null,
      }
      const known = await selectSame(writer, proposed)
      if (known) return { commitment: await keepDeadline(writer, known, given), isNew: false }
      const { memory, isNew } = await memories.addIn(writer, {
        ...originOf(given),
        userId: given.userId,
        kind: 'commitment',
        content: commitmentContent(proposed),
      })
      const row = { ...proposed, id: memory.id }
      if (isNew) await writer.insertInto('commitments').values(row).execute()
      return { commitment: fromRow({ ...row, created_at: memory.createdAt, label: memory.label }), isNew }
    },

    async get(userId: string, id: string): Promise<Commitment | undefined> {
      const row = await selectCommitment(database.read, userId, id)
      return row && fromRow(row)
    },

    /** Open ones by deadline, those without one last; closed ones newest first. Names are resolved through aliases. */
    async list({ userId, states, who, toWhom, limit }: CommitmentQuestion): Promise<Commitment[]> {
      const wanted = new Set<CommitmentState>(states ?? ['open', 'expired', 'done', 'cancelled'])
      const found: Commitment[] = []
      for (const [state, narrow] of parts) {
        if (!wanted.has(state) || found.length >= limit) continue
        let query = narrow(selectCommitments(database.read, userId), clock.now())
        if (who !== undefined) query = query.where('who_key', 'in', await keysOf(userId, who))
        if (toWhom !== undefined) query = query.where('to_whom_key', 'in', await keysOf(userId, toWhom))
        const rows = await query.limit(limit - found.length).execute()
        found.push(...rows.map(fromRow))
      }
      return found
    },

    async update(userId: string, id: string, change: CommitmentChange): Promise<Commitment | undefined> {
      return await database.write(async (writer) => {
        const row = await selectCommitment(writer, userId, id)
        if (!row) return undefined
        const state = change.state ?? row.state
        const closedAt = state === 'open' ? null : state === row.state ? row.closed_at : clock.now()
        const deadline = change.deadline === undefined ? row.deadline : change.deadline
        return await save(writer, { ...row, state, deadline, closed_at: closedAt })
      })
    },
  }
  return commitments

  async function save(writer: Writer, row: CommitmentWithTime): Promise<Commitment> {
    const { id, user_id, state, deadline, closed_at } = row
    await writer.updateTable('commitments').set({ state, deadline, closed_at }).where(isRow(user_id, id)).execute()
    const memory = memoryFromRow(await selectMemories(writer, user_id).where('id', '=', id).executeTakeFirstOrThrow())
    await memories.replaceIn(writer, { ...memory, content: commitmentContent(row), updatedAt: clock.now() })
    return fromRow(row)
  }

  /**
   * The promise was repeated with another deadline. The user's own words change it at once. A conversation does not
   * change the user's own deadline: it adds a note to review. A change can be undone.
   */
  async function keepDeadline(writer: Writer, known: CommitmentWithTime, given: NewCommitment): Promise<Commitment> {
    const { userId, deadline = null, source } = given
    if (deadline === null || deadline === Number(known.deadline)) return fromRow(known)
    const memory = memoryFromRow(
      await selectMemories(writer, known.user_id).where('id', '=', known.id).executeTakeFirstOrThrow(),
    )
    if (source !== 'user' && memory.source === 'user') {
      const proposal = commitmentContent({ ...known, deadline })
      const content = `To review: another day was mentioned for this commitment. ${proposal}`
      const note = { ...originOf(given), userId, kind: 'note', content, tags: ['review'], tier: 'short_term' } as const
      await memories.addIn(writer, note)
      return fromRow(known)
    }
    const by = source === 'user' ? 'user' : 'agent'
    await journal.record(writer, { memory, others: [], action: 'edited', by })
    return await save(writer, { ...known, deadline })
  }

  async function keysOf(userId: string, name: string): Promise<string[]> {
    return [...(await allNamesOf(database.read, userId, name)).keys()]
  }

  function fromRow(row: CommitmentWithTime): Commitment {
    const deadline = row.deadline === null ? null : Number(row.deadline)
    return {
      id: row.id,
      userId: row.user_id,
      who: row.who,
      toWhom: row.to_whom,
      what: row.what,
      deadline,
      state: row.state === 'open' && deadline !== null && deadline < clock.now() ? 'expired' : row.state,
      closedAt: row.closed_at === null ? null : Number(row.closed_at),
      createdAt: Number(row.created_at),
      label: row.label,
    }
  }
}

type CommitmentWithTime = CommitmentRow & { created_at: number; label: MemoryLabel }

function selectCommitments(reader: Reader | Writer, userId: string) {
  return reader
    .selectFrom('commitments')
    .innerJoin('memories', 'memories.id', 'commitments.id')
    .selectAll('commitments')
    .select(['memories.created_at', 'memories.label'])
    .where('commitments.user_id', '=', userId)
}

function selectCommitment(reader: Reader | Writer, userId: string, id: string) {
  return selectCommitments(reader, userId).where('commitments.id', '=', id).executeTakeFirst()
}

type CommitmentsQuery = ReturnType<typeof selectCommitments>

/** Each state in the order of its own index, so that a list ends after its first rows. */
const parts: readonly [CommitmentState, (query: CommitmentsQuery, now: number) => CommitmentsQuery][] = [
  ['open', (query, now) => query.where('state', '=', 'open').where('deadline', '>=', now).orderBy('deadline')],
  ['open', (query) => query.where('state', '=', 'open').where('deadline', 'is', null).orderBy('commitments.id')],
  [
    'expired',
    (query, now) => query.where('state', '=', 'open').where('deadline', '<', now).orderBy('deadline', 'desc'),
  ],
  ['expired', (query) => closed(query, 'expired')],
  ['done', (query) => closed(query, 'done')],
  ['cancelled', (query) => closed(query, 'cancelled')],
]

/** The engines sort nulls differently. */
function closed(query: CommitmentsQuery, state: CommitmentState): CommitmentsQuery {
  return query.where('state', '=', state).orderBy('closed_at', (order) => order.desc().nullsLast())
}

/** The same promise, stored before and still open. */
async function selectSame(
  writer: Writer,
  { user_id, who_key, to_whom_key, what_key }: Omit<CommitmentRow, 'id'>,
): Promise<CommitmentWithTime | undefined> {
  const rows = await selectCommitments(writer, user_id)
    .where('what_key', '=', what_key)
    .where('state', '=', 'open')
    .execute()
  return rows.find((row) => row.who_key === who_key && row.to_whom_key === to_whom_key)
}

type Promised = Pick<CommitmentRow, 'who' | 'to_whom' | 'what' | 'deadline' | 'state'>

function commitmentContent(row: Promised): string {
  return `${commitmentBeginning(row)}${row.what}${commitmentEnd(row)}`
}

export function commitmentBeginning({ who, to_whom }: Pick<Promised, 'who' | 'to_whom'>): string {
  return to_whom === null ? `${who} owes: ` : `${who} owes ${to_whom}: `
}

export function commitmentEnd({ deadline, state }: Pick<Promised, 'deadline' | 'state'>): string {
  const by = deadline === null ? '' : `, by ${new Date(deadline).toISOString().slice(0, 10)}`
  return state === 'open' ? by : `${by} (${state})`
}
