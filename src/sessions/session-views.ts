import { sql } from 'kysely'
import type { Database } from '../storage/database.ts'
import type { LoggedEvent } from './session-event.ts'
import type { SessionLog } from './session-log.ts'
import type { Session } from './sessions.ts'

interface SessionView {
  session: Session
  /** What the user calls it, or what it began with. */
  title: string | null
  /** The newest words. */
  preview: string
  isUnread: boolean
}

/** How sessions are shown in a list: their titles, their newest words, and whether somebody has seen them. */
export interface SessionViews {
  show(sessions: readonly Session[]): Promise<SessionView[]>
  /** An empty title takes the user's own away. The session is the user's: the caller has looked it up. */
  setTitle(sessionId: string, title: string): Promise<void>
  /** Never goes back. */
  markRead(sessionId: string, seq: number): Promise<void>
}

const titleCharacters = 80
const previewCharacters = 160
/** Enough for every list that is looked at; the rest is read again. */
const mostKept = 2_000

export function createSessionViews(dependencies: {
  database: Database
  log: Pick<SessionLog, 'read' | 'readBack'>
}): SessionViews {
  const { database, log } = dependencies
  /** What a session began with never changes; its newest words are those of its newest event. */
  const beginnings = new Map<string, string>()
  const previews = new Map<string, { seq: number; text: string }>()

  async function beginningOf(sessionId: string): Promise<string | null> {
    const known = beginnings.get(sessionId)
    if (known !== undefined) return known
    const { events } = await log.read(sessionId, { limit: 20 })
    const text = oneLine(events.find((event) => event.type === 'message_received')?.text ?? '', titleCharacters)
    if (text === '') return null
    keep(beginnings, sessionId, text)
    return text
  }

  async function previewOf({ id, lastSeq }: Session): Promise<string> {
    const known = previews.get(id)
    if (known?.seq === lastSeq) return known.text
    const events = await log.readBack(id, { limit: 40 })
    const text = oneLine(events.findLast(isSaid)?.text ?? known?.text ?? '', previewCharacters)
    keep(previews, id, { seq: lastSeq, text })
    return text
  }

  async function rowsOf(sessions: readonly Session[]) {
    if (sessions.length === 0) return new Map()
    const rows = await database.read
      .selectFrom('session_views')
      .selectAll()
      .where(
        'session_id',
        'in',
        sessions.map(({ id }) => id),
      )
      .execute()
    return new Map(rows.map((row) => [row.session_id, row]))
  }

  async function write(row: { session_id: string; title?: string | null; read_seq?: number }): Promise<void> {
    await database.write((writer) =>
      writer
        .insertInto('session_views')
        .values({ title: null, read_seq: 0, ...row })
        .onConflict((conflict) =>
          conflict.column('session_id').doUpdateSet({
            ...(row.title !== undefined && { title: row.title }),
            ...(row.read_seq !== undefined && {
              read_seq: sql`case when session_views.read_seq > ${row.read_seq} then session_views.read_seq else ${row.read_seq} end`,
            }),
          }),
        )
        .execute(),
    )
  }

  return {
    async show(sessions) {
      const rows = await rowsOf(sessions)
      return Promise.all(
        sessions.map(async (session) => {
          const row = rows.get(session.id)
          return {
            session,
            title: row?.title ?? (await beginningOf(session.id)),
            preview: await previewOf(session),
            isUnread: session.lastSeq > Number(row?.read_seq ?? 0),
          }
        }),
      )
    },
    setTitle: (sessionId, title) => write({ session_id: sessionId, title: title === '' ? null : title }),
    markRead: (sessionId, seq) => write({ session_id: sessionId, read_seq: seq }),
  }
}

function isSaid(event: LoggedEvent): event is Extract<LoggedEvent, { type: 'message_received' | 'turn_ended' }> {
  return (event.type === 'message_received' || event.type === 'turn_ended') && event.text.trim() !== ''
}

/** A line for a list: without the marks of Markdown and the citations, which say nothing there. */
function oneLine(text: string, most: number): string {
  const plain = text.replaceAll(/\s*\[memory:[0-9a-f-]+\]/g, '').replaceAll(/\*\*|__|`|^(?:#{1,6}|>) /gm, '')
  const line = plain.replaceAll(/\s+/g, ' ').trim()
  return line.length <= most
    ? line
    : `${line
        .slice(0, most - 1)
        .toWellFormed()
        .replace(/\ufffd$/, '')
        .trimEnd()}…`
}

function keep<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key)
  map.set(key, value)
  const oldest = map.keys().next().value
  if (map.size > mostKept && oldest !== undefined) map.delete(oldest)
}
