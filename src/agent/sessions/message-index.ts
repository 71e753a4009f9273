import { sql } from 'kysely'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { reasonOf } from '../../base/text.ts'
import { isWorkChannel, workChannels } from '../../protocol/messages.ts'
import type { Database, Reader, Writer } from '../../storage/database.ts'
import { createMatcher, formsIn, type Snippet, snippetOf } from '../../storage/snippets.ts'
import { isJump, isOn, type Jump, jumpTypes, pathOf } from './branches.ts'
import { eventFromRow, type LoggedEvent } from './session-event.ts'
import type { SessionLog } from './session-log.ts'

const collection = 'messages'
const eventsAtOnce = 200
/** The pause in which the events of a turn gather. */
const quietMs = 300
const sessionsAtOnce = 50

/** A message or reply that contains the words. */
export interface FoundMessage {
  sessionId: string
  role: 'user' | 'assistant'
  /** Of a message of the user. */
  messageId: string | null
  /** Of a reply. */
  turnId: string | null
  at: number
  snippet: Snippet
  /** The words as they occur in the text, for highlighting them there. */
  forms: string[]
}

export type MessageIndex = ReturnType<typeof createMessageIndex>

/**
 * Full-text search over the messages and replies of every conversation, private ones included: it answers only their
 * user and nothing of it becomes memory. Words are indexed in the background, soon after an event, from where each session
 * stopped (`sessions.searched_seq`), which is written in the unit of the index: nothing is missed and nothing doubled.
 *
 * The cost of a search does not depend on the length of a conversation: the index reads the entries of each word, newest
 * first and up to a limit, and three more queries read the candidates, their conversations and their branches.
 */
export function createMessageIndex(dependencies: {
  database: Database
  log: Pick<SessionLog, 'onAnyChange'>
  clock: Clock
  logger: Logger
  /** Whether the session's turns run on this daemon, which then indexes them. */
  isHere(sessionId: string): Promise<boolean>
}) {
  const { database, log, clock, logger, isHere } = dependencies
  const stop = new AbortController()
  const waiting = new Set<string>()
  let cancel: (() => void) | undefined
  let working: Promise<void> = Promise.resolve()

  const unfollow = log.onAnyChange((sessionId) => {
    if (stop.signal.aborted) return
    waiting.add(sessionId)
    cancel ??= clock.after(quietMs, () => void catchUp())
  })

  /** Indexes what is waiting. Calls run one after another. */
  function catchUp(): Promise<void> {
    cancel?.()
    cancel = undefined
    working = working.then(async () => {
      for (const sessionId of [...waiting]) {
        if (stop.signal.aborted) return
        waiting.delete(sessionId)
        if (await isHere(sessionId)) await indexSession(sessionId)
      }
    })
    working = working.catch((cause: unknown) => {
      logger.error('could not index messages; they are indexed at the next start', { error: reasonOf(cause) })
    })
    return working
  }

  async function indexSession(sessionId: string): Promise<void> {
    // A streaming response wakes too, and writes nothing.
    if (!(await isBehind(database.read, sessionId))) return
    while (!stop.signal.aborted && (await database.write((writer) => indexNext(database, writer, sessionId))));
  }

  return {
    /** Indexes messages from before the index or a crash, newest conversations first. Returns at once. */
    recover(): void {
      working = working.then(async () => {
        await startOverIfEmpty(database)
        for (;;) {
          const behind = await sessionsBehind(database.read)
          if (behind.length === 0) return
          for (const id of behind) {
            if (stop.signal.aborted) return
            await indexSession(id)
          }
        }
      })
      working = working.catch((cause: unknown) => {
        logger.error('could not index earlier messages', { error: reasonOf(cause) })
      })
    },
    /** Once more from the start: texts in it were forgotten. */
    async renew(sessionIds: readonly string[]): Promise<void> {
      for (const id of sessionIds) {
        await database.write(async (writer) => {
          await removeMessagesIn(database, writer, id)
          await writer.updateTable('sessions').set({ searched_seq: 0 }).where('id', '=', id).execute()
        })
        await indexSession(id)
      }
    },
    async search(query: { userId: string; words: string; limit: number; isTyping?: boolean }): Promise<FoundMessage[]> {
      const { userId, words, limit, isTyping = false } = query
      if (waiting.size > 0) await catchUp()
      const search = { collection, userId, words, limit: limit * overfetch, isEveryWord: true, isTyping }
      const ids = (await database.textSearch.search(search)).map(({ id }) => id)
      const rows = await readMessages(database.read, userId, ids)
      const find = createMatcher(words, { isTyping })
      const found: FoundMessage[] = []
      for (const id of ids) {
        const message = rows.get(id)
        if (!message) continue
        const { text, ...rest } = message
        found.push({ ...rest, snippet: snippetOf(text, find), forms: formsIn(text, find) })
        if (found.length === limit) break
      }
      return found
    },
    /** Resolves when everything that is waiting is indexed. */
    idle: () => catchUp(),
    async close(): Promise<void> {
      stop.abort(new Error('Familiar is stopping'))
      unfollow()
      cancel?.()
      await working
    },
  }
}

/** Messages of deleted conversations and of branches that were left do not count. */
const overfetch = 4

/** Indexes the next events of a session; false at its end. */
async function indexNext(database: Database, writer: Writer, sessionId: string): Promise<boolean> {
  const session = await writer
    .selectFrom('sessions')
    .select(['user_id', 'channel', 'searched_seq', 'last_seq'])
    .where('id', '=', sessionId)
    .executeTakeFirst()
  if (!session || Number(session.searched_seq) >= Number(session.last_seq)) return false
  if (isWorkChannel(session.channel)) return false
  const rows = await writer
    .selectFrom('session_events')
    .select(['seq', 'turn_id', 'at', 'type', 'data'])
    .where('session_id', '=', sessionId)
    .where('seq', '>', Number(session.searched_seq))
    .orderBy('seq')
    .limit(eventsAtOnce)
    .execute()
  for (const row of rows) {
    const event = indexedTypes.has(row.type) ? eventFromRow(row) : undefined
    const text = event && textIn(event)
    if (!text) continue
    const entry = { collection, userId: session.user_id, id: entryId(sessionId, Number(row.seq)), text }
    await database.textSearch.index(writer, entry)
  }
  const searched = Number(rows.at(-1)?.seq ?? session.last_seq)
  await writer.updateTable('sessions').set({ searched_seq: searched }).where('id', '=', sessionId).execute()
  return rows.length === eventsAtOnce
}

const indexedTypes: ReadonlySet<string> = new Set(['message_received', 'tool_finished', 'turn_ended'])

/** The words that the page shows as said. */
function textIn(event: LoggedEvent): string {
  if (event.type === 'message_received') return event.text
  if (event.type === 'tool_finished') return event.says ?? ''
  if (event.type === 'turn_ended' && event.deliver) return event.text
  return ''
}

function entryId(sessionId: string, seq: number): string {
  return `${sessionId}:${seq}`
}

/** A database that was moved to another engine has the sessions as they were, and no index of messages yet. */
async function startOverIfEmpty(database: Database): Promise<void> {
  const { rows } = await sql`select 1 from text_entries where collection = ${collection} limit 1`.execute(database.read)
  if (rows.length > 0) return
  await database.write((writer) =>
    writer.updateTable('sessions').set({ searched_seq: 0 }).where('searched_seq', '>', 0).execute(),
  )
}

async function isBehind(read: Reader, sessionId: string): Promise<boolean> {
  const session = await read
    .selectFrom('sessions')
    .select('id')
    .where('id', '=', sessionId)
    .whereRef('searched_seq', '<', 'last_seq')
    .executeTakeFirst()
  return session !== undefined
}

async function sessionsBehind(read: Reader): Promise<string[]> {
  const rows = await read
    .selectFrom('sessions')
    .select('id')
    .whereRef('searched_seq', '<', 'last_seq')
    .where('channel', 'not in', workChannels)
    .orderBy('updated_at', 'desc')
    .limit(sessionsAtOnce)
    .execute()
  return rows.map(({ id }) => id)
}

/** In the unit that deletes the session or its texts. */
export async function removeMessagesIn(
  database: Pick<Database, 'textSearch'>,
  writer: Writer,
  sessionId: string,
): Promise<void> {
  const rows = await writer
    .selectFrom('session_events')
    .select('seq')
    .where('session_id', '=', sessionId)
    .where('type', 'in', [...indexedTypes])
    .execute()
  for (const { seq } of rows) {
    await database.textSearch.remove(writer, { collection, id: entryId(sessionId, Number(seq)) })
  }
}

type ReadMessage = Omit<FoundMessage, 'snippet' | 'forms'> & { text: string }

/** The messages under their entries: those of the user that the open conversation can show. */
async function readMessages(read: Reader, userId: string, ids: readonly string[]): Promise<Map<string, ReadMessage>> {
  if (ids.length === 0) return new Map()
  const places = ids.map((id) => {
    const [sessionId = '', seq = ''] = id.split(':')
    return sql`select cast(${sessionId} as text) as id, cast(${Number(seq)} as bigint) as seq`
  })
  // A table of the wanted events: with a list of pairs, SQLite would look into every session of the user.
  const wanted = sql<{ id: string; seq: number }>`(${sql.join(places, sql` union all `)})`.as('wanted')
  const rows = await read
    .selectFrom(wanted)
    .innerJoin('session_events', (join) =>
      join.onRef('session_events.session_id', '=', 'wanted.id').onRef('session_events.seq', '=', 'wanted.seq'),
    )
    .innerJoin('sessions', 'sessions.id', 'session_events.session_id')
    .select(['session_id', 'session_events.seq', 'turn_id', 'at', 'type', 'data', 'last_seq'])
    .where('sessions.user_id', '=', userId)
    .where('sessions.deleted_at', 'is', null)
    .execute()
  const sessionIds = [...new Set(rows.map(({ session_id }) => session_id))]
  const jumps = await readJumps(read, sessionIds)
  const paths = new Map(
    rows.map(({ session_id, last_seq }) => [session_id, pathOf(jumps.get(session_id) ?? [], Number(last_seq))]),
  )
  const found = new Map<string, ReadMessage>()
  for (const { session_id: sessionId, last_seq: _, ...row } of rows) {
    const event = eventFromRow(row)
    if (!event || !isOn(paths.get(sessionId) ?? [], event.seq)) continue
    const isMessage = event.type === 'message_received'
    found.set(entryId(sessionId, event.seq), {
      sessionId,
      role: isMessage ? 'user' : 'assistant',
      messageId: isMessage ? event.messageId : null,
      turnId: event.turnId,
      at: event.at,
      text: textIn(event),
    })
  }
  return found
}

async function readJumps(read: Reader, sessionIds: readonly string[]): Promise<Map<string, Jump[]>> {
  if (sessionIds.length === 0) return new Map()
  const rows = await read
    .selectFrom('session_events')
    .select(['session_id', 'seq', 'turn_id', 'at', 'type', 'data'])
    .where('session_id', 'in', sessionIds)
    // Literals, so that the partial index over jumps is used.
    .where(sql<boolean>`type in (${sql.join(jumpTypes.map((type) => sql.lit(type)))})`)
    .orderBy('seq')
    .execute()
  const jumps = new Map<string, Jump[]>()
  for (const { session_id, ...row } of rows) {
    const event = eventFromRow(row)
    if (!event || !isJump(event)) continue
    jumps.set(session_id, [...(jumps.get(session_id) ?? []), event])
  }
  return jumps
}
