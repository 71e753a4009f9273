import type { ExpressionBuilder } from 'kysely'
import type { Clock } from '../../base/clock.ts'
import type { Ids } from '../../base/ids.ts'
import { camelKeys } from '../../base/json.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { isWorkChannel, workChannels } from '../../protocol/messages.ts'
import type { PolicyMode } from '../../protocol/permissions.ts'
import { type Database, type Reader, reusableQuery, type Writer } from '../../storage/database.ts'
import type { SessionRow, Tables } from '../../storage/tables.ts'
import { copyPinsIn } from '../../tools/files/pins.ts'
import { appendEvents } from './session-log.ts'

export type Session = ReturnType<typeof fromRow>

export type SessionKey = Pick<Session, 'userId' | 'channel' | 'contact'>

/** Of the conversations that are listed regardless of their age. */
const maxKept = 1_000

export type Sessions = ReturnType<typeof createSessions>

/** The sessions themselves. Every look-up carries the user: another user's session does not exist. */
export function createSessions(dependencies: {
  database: Database
  clock: Clock
  ids: Ids
  /** How many conversations a user may have at once (CLIENT-4); null: as many as they like. */
  maxSessions?: (userId: string) => number | null
}) {
  const { database, clock, ids, maxSessions = () => null } = dependencies

  async function refuseTooMany(writer: Writer, { userId, channel }: SessionKey): Promise<void> {
    const most = isWorkChannel(channel) ? null : maxSessions(userId)
    if (most === null) return
    const { count } = await writer
      .selectFrom('sessions')
      .select((select) => select.fn.countAll().as('count'))
      .where('user_id', '=', userId)
      .where('state', '=', 'active')
      .where('channel', 'not in', workChannels)
      .executeTakeFirstOrThrow()
    if (Number(count) < most) return
    throw new FamiliarError('forbidden', `Your plan allows ${most} open conversations. Archive one with /reset first`)
  }

  async function activate(writer: Writer, session: Session): Promise<void> {
    if (await findActive(writer, session)) {
      throw new FamiliarError(
        'conflict',
        `Another conversation with ${session.contact} is active. Archive that one first`,
      )
    }
    await refuseTooMany(writer, session)
    await writer.updateTable('sessions').set({ state: 'active' }).where('id', '=', session.id).execute()
  }

  async function insert(
    writer: Writer,
    key: SessionKey & { agent?: string } & Partial<Pick<Session, 'model' | 'mode' | 'remembered'>>,
  ): Promise<Session> {
    await refuseTooMany(writer, key)
    const now = clock.now()
    const row: SessionRow = {
      id: ids.next(),
      user_id: key.userId,
      channel: key.channel,
      contact: key.contact,
      state: 'active',
      last_seq: 0,
      last_input_tokens: 0,
      agent: key.agent ?? 'main',
      model: key.model ?? null,
      mode: key.mode ?? null,
      remembered: key.remembered ?? 1,
      deleted_at: null,
      deleted_from: null,
      searched_seq: 0,
      created_at: now,
      updated_at: now,
    }
    await writer.insertInto('sessions').values(row).execute()
    return fromRow(row)
  }

  return {
    /**
     * The active session of the key, if there is one. The unit writes its row, so that no other unit can close it
     * meanwhile.
     */
    async hold(writer: Writer, key: SessionKey): Promise<Session | undefined> {
      const { rows } = await holdActive(writer, key)
      return rows[0] && fromRow(rows[0])
    },
    /** The active session of the key; created if there is none. */
    async ensure(writer: Writer, key: SessionKey): Promise<Session> {
      return (await findActive(writer, key)) ?? insert(writer, key)
    },
    find: (key: SessionKey): Promise<Session | undefined> => findActive(database.read, key),
    get: (userId: string, sessionId: string): Promise<Session | undefined> =>
      findById(database.read, userId, sessionId),
    getIn: findById,
    /** From the next turn on. Null returns the choice to the routes. False if there is no such session. */
    async chooseModel(userId: string, sessionId: string, model: string | null): Promise<boolean> {
      const { numUpdatedRows } = await database.write((writer) =>
        writer
          .updateTable('sessions')
          .set({ model })
          .where('id', '=', sessionId)
          .where('user_id', '=', userId)
          .executeTakeFirst(),
      )
      return numUpdatedRows > 0n
    },
    /** From the next turn on. Null: as configured. */
    async chooseMode(userId: string, sessionId: string, mode: PolicyMode | null): Promise<void> {
      await database.write((writer) =>
        writer
          .updateTable('sessions')
          .set({ mode })
          .where('id', '=', sessionId)
          .where('user_id', '=', userId)
          .execute(),
      )
    },
    /** The conversations: work in the background is not among them. */
    async list(userId: string, options: { includeArchived?: boolean; limit?: number } = {}): Promise<Session[]> {
      let query = database.read
        .selectFrom('sessions')
        .selectAll()
        .where('user_id', '=', userId)
        .where('deleted_at', 'is', null)
        .where('channel', 'not in', workChannels)
      if (!options.includeArchived) query = query.where('state', '=', 'active')
      const rows = await query
        .orderBy('updated_at', 'desc')
        .limit(options.limit ?? 200)
        .execute()
      return rows.map(fromRow)
    },
    /** Conversations that the user sorted into a folder or pinned, however old they are, newest first. */
    async kept(userId: string): Promise<Session[]> {
      const rows = await database.read
        .selectFrom('sessions')
        .innerJoin('session_views', 'session_views.session_id', 'sessions.id')
        .selectAll('sessions')
        .where('sessions.user_id', '=', userId)
        .where('sessions.deleted_at', 'is', null)
        .where((where) =>
          where.or([where('session_views.folder_id', 'is not', null), where('session_views.pinned', '=', 1)]),
        )
        .orderBy('sessions.updated_at', 'desc')
        .limit(maxKept)
        .execute()
      return rows.map(fromRow)
    },
    /**
     * Ends the session permanently and keeps its log; the next message of the same key starts a new one. Queued messages
     * move to the new one, which is then returned; `onMoved` is called in the same unit.
     */
    async archive(
      session: Session,
      onMoved?: (writer: Writer, next: Session) => Promise<void> | undefined,
    ): Promise<Session | undefined> {
      const at = clock.now()
      return database.write(async (writer) => {
        await appendEvents(writer, { sessionId: session.id, turnId: null, events: [{ type: 'reset' }], at })
        await writer.updateTable('sessions').set({ state: 'archived' }).where('id', '=', session.id).execute()
        const waiting = await writer
          .selectFrom('inbox')
          .select('id')
          .where('session_id', '=', session.id)
          // Stated in addition to the state, so that the partial index over open rows is used.
          .where('state', '!=', 'done')
          .where('state', '=', 'queued')
          .execute()
        if (waiting.length === 0) return undefined
        const next = await insert(writer, session)
        await onMoved?.(writer, next)
        await writer
          .updateTable('inbox')
          .set({ session_id: next.id })
          .where(
            'id',
            'in',
            waiting.map(({ id }) => id),
          )
          .execute()
        return next
      })
    },
    /** The next message of its key continues it. Refuses if another session of the key is active. */
    unarchive: (session: Session): Promise<void> => database.write((writer) => activate(writer, session)),
    /** Hides an archived session from its user, who can restore it. */
    async delete({ id }: Session, from: Session['state']): Promise<void> {
      const deleted = { deleted_at: clock.now(), deleted_from: from }
      await database.write((writer) => writer.updateTable('sessions').set(deleted).where('id', '=', id).execute())
    },
    /** Restores a deleted session as it was. It stays archived if its key has another active session by now. */
    async restore(userId: string, sessionId: string): Promise<Session | undefined> {
      return database.write(async (writer) => {
        const row = await writer
          .selectFrom('sessions')
          .selectAll()
          .where('id', '=', sessionId)
          .where('user_id', '=', userId)
          .where('deleted_at', 'is not', null)
          .executeTakeFirst()
        if (!row) return undefined
        const restored = { deleted_at: null, deleted_from: null }
        await writer.updateTable('sessions').set(restored).where('id', '=', sessionId).execute()
        const session = fromRow(row)
        if (row.deleted_from === 'active' && !(await findActive(writer, session))) {
          await activate(writer, session)
          session.state = 'active'
        }
        return session
      })
    },
    /** Those that can be restored, the newest deletion first. */
    async deleted(userId: string): Promise<{ session: Session; deletedAt: number }[]> {
      const rows = await database.read
        .selectFrom('sessions')
        .selectAll()
        .where('user_id', '=', userId)
        .where('deleted_at', 'is not', null)
        .orderBy('deleted_at', 'desc')
        .limit(200)
        .execute()
      return rows.map((row) => ({ session: fromRow(row), deletedAt: Number(row.deleted_at) }))
    },
    /** A new active session under `contact` that holds the same events up to `throughSeq`, with pins of its own that are the same. */
    async fork(session: Session, options: { contact: string; throughSeq: number }): Promise<Session> {
      return database.write(async (writer) => {
        const { userId, channel, model, mode, remembered } = session
        const key = { userId, channel, contact: options.contact, model, mode, remembered }
        if (await findActive(writer, key)) {
          throw new FamiliarError('conflict', `There is already a session named ${options.contact}`)
        }
        const fork = await insert(writer, key)
        await writer
          .insertInto('session_events')
          .columns(['session_id', 'seq', 'type', 'turn_id', 'at', 'data'])
          .expression((expression) =>
            expression
              .selectFrom('session_events')
              .select((column) => [column.val(fork.id).as('session_id'), 'seq', 'type', 'turn_id', 'at', 'data'])
              .where('session_id', '=', session.id)
              .where('seq', '<=', options.throughSeq),
          )
          .execute()
        const own = { agent: fork.id, last_seq: options.throughSeq }
        await writer.updateTable('sessions').set(own).where('id', '=', fork.id).execute()
        await copyPinsIn(writer, { userId: fork.userId, from: session.agent, to: fork.id })
        const forked = { type: 'forked', fromSessionId: session.id, fromSeq: options.throughSeq } as const
        await appendEvents(writer, { sessionId: fork.id, turnId: null, events: [forked], at: clock.now() })
        return { ...fork, agent: fork.id, lastSeq: options.throughSeq + 1 }
      })
    },
  }
}

async function findById(reader: Reader | Writer, userId: string, sessionId: string): Promise<Session | undefined> {
  const row = await reader
    .selectFrom('sessions')
    .selectAll()
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row && fromRow(row)
}

async function findActive(reader: Reader | Writer, key: SessionKey): Promise<Session | undefined> {
  const { rows } = await selectActive(reader, key)
  return rows[0] && fromRow(rows[0])
}

function isActive({ userId, channel, contact }: SessionKey) {
  return (where: ExpressionBuilder<Tables, 'sessions'>) =>
    where.and({ user_id: userId, channel, contact, state: 'active' })
}

const selectActive = reusableQuery((database, key: SessionKey) =>
  database.selectFrom('sessions').selectAll().where(isActive(key)),
)

const holdActive = reusableQuery((database, key: SessionKey) =>
  database
    .updateTable('sessions')
    .set((column) => ({ updated_at: column.ref('updated_at') }))
    .where(isActive(key))
    .returningAll(),
)

function fromRow({ deleted_at: _, deleted_from: __, searched_seq: ___, ...row }: SessionRow) {
  return { ...camelKeys(row), lastSeq: Number(row.last_seq), lastInputTokens: Number(row.last_input_tokens) }
}

/** For a session that has no message yet, in the unit of its first one. */
export async function beginSessionIn(
  writer: Writer,
  key: SessionKey,
  { model, isPrivate = false }: { model?: string | undefined; isPrivate?: boolean | undefined },
): Promise<void> {
  await writer
    .updateTable('sessions')
    .set({ ...(model !== undefined && { model }), remembered: isPrivate ? 0 : 1 })
    .where(isActive(key))
    .where('last_seq', '=', 0)
    .execute()
}

/** Which model answers in the active session of the key, in the unit of the message that may just have made it. */
export async function chooseModelIn(writer: Writer, key: SessionKey, model: string): Promise<void> {
  await writer.updateTable('sessions').set({ model }).where(isActive(key)).execute()
}
