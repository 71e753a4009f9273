import { type SqlBool, sql } from 'kysely'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { type Ids, sha256 } from '../../base/ids.ts'
import { camelKeys, canonicalJson, parseJson, pick } from '../../base/json.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { labelSchema, mediaPartSchema, toolChoiceSchema, toolDefinitionSchema } from '../../protocol/messages.ts'
import { type Database, reusableQuery, type Writer } from '../../storage/database.ts'
import type { InboxRow } from '../../storage/tables.ts'
import type { Coordination, QueueDepth } from '../coordination.ts'
import type { Session, SessionKey, Sessions } from './sessions.ts'

const payloadSchema = z.object({
  text: z.string(),
  media: z.array(mediaPartSchema),
  sender: z.string(),
  source: z.string(),
  tier: z.string(),
  /** Runs immediately as a turn of its own, not joined with its neighbors. */
  immediate: z.boolean(),
  metadata: z.record(z.string(), z.json()),
  /** Whose words it is. Absent: the owner's own. */
  label: labelSchema.optional(),
  /** The tools that the client runs itself during the turn. */
  clientTools: z.array(toolDefinitionSchema).optional(),
  toolChoice: toolChoiceSchema.optional(),
  /** The question whose options the text chooses. */
  answers: z.string().optional(),
})

export type InboundPayload = z.infer<typeof payloadSchema>

export interface InboxMessage extends InboundPayload {
  id: string
  userId: string
  sessionId: string
  receivedAt: number
}

type KeyedPayload = InboundPayload & { key: string | null }

type Admission =
  | { admitted: true; message: InboxMessage }
  /** The same key came before: `turnId` is set once its turn has started. */
  | { admitted: false; message: InboxMessage; turnId: string | null; done: boolean }

export type Inbox = ReturnType<typeof createInbox>

/** Messages that were accepted and whose turn has not ended. They are committed before the sender gets a receipt. */
export function createInbox(dependencies: {
  database: Database
  sessions: Sessions
  clock: Clock
  ids: Ids
  /** Throws where no more may wait: in the session, or in all. */
  refuseOverload(sessionId: string, writer: Writer): void | Promise<void>
  /** With `tables`, other daemons admit messages as well, by their own clocks. */
  coordination: Pick<Coordination, 'stateIn' | 'onAdmitted'>
  /** Removes secrets from the message before keys, topics or questions are derived from it. */
  redact?: (payload: InboundPayload) => InboundPayload
}) {
  const { database, sessions, clock, ids, coordination, redact = (payload: InboundPayload) => payload } = dependencies
  const isShared = coordination.stateIn === 'tables'

  /** When the newest message came. The next one came later, even where the clock was set back while the daemon was down. */
  let newest = 0

  /** A message that is not to wait: nothing is written before `admitRunning`. */
  function draft(session: Session, payload: InboundPayload): InboxMessage {
    newest = Math.max(clock.now(), newest + 1)
    return { ...redact(payload), id: ids.next(), userId: session.userId, sessionId: session.id, receivedAt: newest }
  }

  async function admittedBefore(
    writer: Writer,
    key: SessionKey,
    inbound: KeyedPayload,
  ): Promise<Admission | undefined> {
    if (inbound.key === null) return undefined
    const known = await writer
      .selectFrom('inbox')
      .selectAll()
      .where('user_id', '=', key.userId)
      .where('key', '=', inbound.key)
      .executeTakeFirst()
    if (!known) return undefined
    if (known.body_hash !== bodyHashOf(key, inbound)) {
      throw new FamiliarError('conflict', `The key ${inbound.key} was already used for another message`)
    }
    return { admitted: false, message: fromRow(known), turnId: known.turn_id, done: known.state === 'done' }
  }

  async function admitInto(writer: Writer, session: Session, inbound: KeyedPayload): Promise<Admission> {
    await dependencies.refuseOverload(session.id, writer)
    if (isShared) newest = Math.max(newest, await newestIn(writer, session.id))
    const { key, ...payload } = inbound
    const message = draft(session, payload)
    const row = { ...rowOf(message), body_hash: bodyHashOf(session, inbound), key: key ?? message.id }
    await insertRow(writer, row)
    await coordination.onAdmitted(writer, message)
    return { admitted: true, message }
  }

  /**
   * Admits into an existing session. Closing it or admitting another message conflicts at the session's row; messages
   * of other sessions do not wait.
   */
  function admitIntoKnown(key: SessionKey, inbound: KeyedPayload): Promise<Admission | undefined> {
    return database.write(
      async (writer) => {
        const before = await admittedBefore(writer, key, inbound)
        const session = before ? undefined : await sessions.hold(writer, key)
        return session ? admitInto(writer, session, inbound) : before
      },
      { meets: 'rows' },
    )
  }

  const inbox = {
    /**
     * Without a key every call is a new message. `also` writes in the same commit, even if the message is already known.
     */
    async admit(key: SessionKey, inbound: KeyedPayload, also?: (writer: Writer) => Promise<void>): Promise<Admission> {
      const admission = isShared && !also ? await admitIntoKnown(key, inbound) : undefined
      if (admission) return admission
      return database.write(async (writer) => {
        const admission = await inbox.admitIn(writer, key, inbound)
        await also?.(writer)
        return admission
      })
    },
    /** Inside a unit of the caller: no work on the message may start before the commit. */
    async admitIn(writer: Writer, key: SessionKey, inbound: KeyedPayload): Promise<Admission> {
      return (
        (await admittedBefore(writer, key, inbound)) ??
        (await admitInto(writer, await sessions.ensure(writer, key), inbound))
      )
    },
    draft,
    async knows(userId: string, key: string): Promise<boolean> {
      const known = database.read.selectFrom('inbox').select('id').where('user_id', '=', userId).where('key', '=', key)
      return (await known.executeTakeFirst()) !== undefined
    },
    /** Writes a draft together with the turn that it begins. A conflict where its session was archived meanwhile. */
    async admitRunning(writer: Writer, message: InboxMessage, turnId: string) {
      const { rows } = await selectState(writer, message)
      if (rows[0]?.state !== 'active') throw new FamiliarError('conflict', 'The session was archived in the meantime')
      await insertRow(writer, { ...rowOf(message), state: 'running', turn_id: turnId })
    },
    /** The queued messages, oldest first, for the start of the daemon. */
    async queued(): Promise<InboxMessage[]> {
      const rows = await database.read
        .selectFrom('inbox')
        .selectAll()
        .where(isOpen)
        .where('state', '=', 'queued')
        .orderBy('received_at')
        .orderBy('id')
        .execute()
      newest = Math.max(newest, Number(rows.at(-1)?.received_at ?? 0))
      return rows.map(fromRow)
    },
    /** The open work of one session: the running turn, and the messages behind it, oldest first. */
    async openIn(
      sessionId: string,
    ): Promise<{ userId: string; turnId: string | undefined; queued: InboxMessage[] } | undefined> {
      const rows = await database.read
        .selectFrom('inbox')
        .selectAll()
        .where(isOpen)
        .where('session_id', '=', sessionId)
        .orderBy('received_at')
        .orderBy('id')
        .execute()
      const [first] = rows
      return (
        first && {
          userId: first.user_id,
          turnId: rows.find(({ state }) => state === 'running')?.turn_id ?? undefined,
          queued: rows.filter(({ state }) => state === 'queued').map(fromRow),
        }
      )
    },
    /** Sessions with open work, for a start or the death of another daemon. */
    async openLanes(): Promise<{ sessionId: string; channel: string }[]> {
      const rows = await database.read
        .selectFrom('inbox')
        .innerJoin('sessions', 'sessions.id', 'inbox.session_id')
        .select(['inbox.session_id', 'sessions.channel'])
        .distinct()
        .where(isOpen)
        .execute()
      return rows.map(camelKeys)
    },
    async claim(
      writer: Writer,
      { turnId, sessionId, messageIds }: { turnId: string; sessionId: string; messageIds: readonly string[] },
    ) {
      const claimed = await writer
        .updateTable('inbox')
        .set({ state: 'running', turn_id: turnId })
        .where('id', 'in', messageIds)
        .where('session_id', '=', sessionId)
        .where('state', '=', 'queued')
        .executeTakeFirst()
      if (Number(claimed.numUpdatedRows) !== messageIds.length) {
        throw new FamiliarError('conflict', `A message of turn ${turnId} was already claimed`)
      }
    },
    /**
     * Those of the messages that still wait, each with the session where it waits: archiving moves it to another session, and
     * a canceled message waits nowhere.
     */
    async waitingOf(messages: readonly InboxMessage[]): Promise<InboxMessage[]> {
      const ids = messages.map(({ id }) => id)
      // In a write unit, so that it also sees rows that are just being committed.
      const rows = await database.write((writer) =>
        writer
          .selectFrom('inbox')
          .select(['id', 'session_id'])
          .where('id', 'in', ids)
          .where('state', '=', 'queued')
          .execute(),
      )
      const places = new Map(rows.map((row) => [row.id, row.session_id]))
      return messages.flatMap((message) => {
        const sessionId = places.get(message.id)
        return sessionId === undefined ? [] : [{ ...message, sessionId }]
      })
    },
    /**
     * The message is never answered. False if it is not queued in the session: its turn has started, or it is unknown.
     */
    async cancel(writer: Writer, { messageId, sessionId }: { messageId: string; sessionId: string }): Promise<boolean> {
      // The row stays, so that the same key sent again does not bring the message back.
      const canceled = await writer
        .updateTable('inbox')
        .set({ state: 'done' })
        .where('id', '=', messageId)
        .where('session_id', '=', sessionId)
        .where('state', '=', 'queued')
        .executeTakeFirst()
      return Number(canceled.numUpdatedRows) > 0
    },
    async finish(writer: Writer, turnId: string) {
      await finishTurn(writer, { turnId })
    },
    /** One of the messages that the turn began with. */
    async messageOf(turnId: string): Promise<string> {
      const of = database.read.selectFrom('inbox').select('id').where('turn_id', '=', turnId)
      return (await of.executeTakeFirstOrThrow()).id
    },
    async find(messageId: string): Promise<{ sessionId: string; turnId: string | null; done: boolean } | undefined> {
      const row = await database.read
        .selectFrom('inbox')
        .select(['session_id', 'turn_id', 'state'])
        .where('id', '=', messageId)
        .executeTakeFirst()
      return row && { sessionId: row.session_id, turnId: row.turn_id, done: row.state === 'done' }
    },
    async interruptedTurns(): Promise<{ turnId: string; sessionId: string; userId: string; channel: string }[]> {
      const rows = await database.read
        .selectFrom('inbox')
        .select(['turn_id', 'session_id', 'user_id'])
        .select((select) =>
          select
            .selectFrom('sessions')
            .select('channel')
            .whereRef('sessions.id', '=', 'inbox.session_id')
            .as('channel'),
        )
        .distinct()
        .where(isOpen)
        .where('state', '=', 'running')
        .execute()
      return rows.map((row) => ({ ...camelKeys(row), turnId: row.turn_id ?? '', channel: row.channel ?? '' }))
    },
  }
  return inbox
}

const columns = ['id', 'user_id', 'session_id', 'key', 'body_hash', 'state', 'turn_id', 'received_at', 'data'] as const

const insertRow = reusableQuery((database, row: InboxRow) => database.insertInto('inbox').values(pick(row, columns)))

const finishTurn = reusableQuery((database, turn: { turnId: string }) =>
  database.updateTable('inbox').set({ state: 'done' }).where('turn_id', '=', turn.turnId),
)

const selectState = reusableQuery((database, message: { sessionId: string }) =>
  database.selectFrom('sessions').select('state').where('id', '=', message.sessionId),
)

/**
 * Stated in addition to the state, so that the partial index over open rows is used. A literal in the query rather than
 * a parameter, because the planner must know it.
 */
const isOpen = sql<SqlBool>`inbox.state != 'done'`

/** When the newest of the messages came that wait in the session or are being answered. */
async function newestIn(writer: Writer, sessionId: string): Promise<number> {
  const { newest } = await writer
    .selectFrom('inbox')
    .select((select) => select.fn.max('received_at').as('newest'))
    .where(isOpen)
    .where('session_id', '=', sessionId)
    .executeTakeFirstOrThrow()
  return Number(newest ?? 0)
}

function bodyHashOf({ channel, contact }: SessionKey, { key: _, ...payload }: KeyedPayload): string {
  return sha256(canonicalJson({ ...payload, channel, contact }))
}

/** A message as it is stored while it waits, under its own id as its key. */
function rowOf(message: InboxMessage): InboxRow {
  const { id, userId, sessionId, receivedAt, ...payload } = message
  return {
    id,
    user_id: userId,
    session_id: sessionId,
    key: id,
    body_hash: '',
    state: 'queued',
    turn_id: null,
    received_at: receivedAt,
    data: JSON.stringify(payload),
  }
}

function fromRow(row: Pick<InboxRow, 'id' | 'user_id' | 'session_id' | 'received_at' | 'data'>): InboxMessage {
  const payload = parseJson(row.data, payloadSchema)
  if (!payload.ok) throw new FamiliarError('internal', `Inbox row ${row.id} is damaged: ${payload.message}`)
  return {
    ...payload.value,
    id: row.id,
    userId: row.user_id,
    sessionId: row.session_id,
    receivedAt: Number(row.received_at),
  }
}

const retryAfterSeconds = 5

/**
 * An overloaded daemon refuses at admission with `rate_limited`: the sender gets an error with a time to retry, and no
 * accepted message is dropped (SCALE-6).
 */
export function createRefuseOverload(dependencies: {
  limits: () => { maxQueuedPerSession: number; maxQueued: number }
  depth: QueueDepth
}) {
  const { limits, depth } = dependencies
  return async (sessionId: string, writer: Writer): Promise<void> => {
    const { maxQueuedPerSession, maxQueued } = limits()
    if (depth.inAll() >= maxQueued) throw tooMany('in all')
    if ((await depth.here(sessionId, writer)) >= maxQueuedPerSession) throw tooMany('in the session')
  }
}

function tooMany(where: string): FamiliarError {
  return new FamiliarError('rate_limited', `Too many messages are waiting ${where}`, { retryAfterSeconds })
}
