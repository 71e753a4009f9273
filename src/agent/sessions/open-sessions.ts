import { sql } from 'kysely'
import { sha256 } from '../../base/ids.ts'
import { parseAnyJson } from '../../base/json.ts'
import { cutText } from '../../base/text.ts'
import { setNewest } from '../../base/work.ts'
import type { Database } from '../../storage/database.ts'
import type { Coordination } from '../coordination.ts'
import { isJump, pathOf } from './branches.ts'
import { fold, type Projection, project } from './projection.ts'
import { eventFromRow, type LoggedEvent } from './session-event.ts'
import type { SessionLog } from './session-log.ts'
import type { Session } from './sessions.ts'

/** Events between two snapshots: opening a session reads at most about this many. */
const snapshotEvery = 200

export type OpenSessions = ReturnType<typeof createOpenSessions>

/**
 * The projections of the sessions in use, kept in memory and updated with each event. The writer of an event passes it
 * to `follow`; only one turn writes to a session at a time.
 */
export function createOpenSessions(dependencies: {
  log: SessionLog
  snapshots: Snapshots
  stateIn?: Coordination['stateIn']
  /** How many sessions stay in memory; the least recently used one without a turn under way goes first. */
  capacity?: number
}) {
  const { log, snapshots, stateIn = 'memory', capacity = 64 } = dependencies
  const open = new Map<string, { projection: Projection; snapshotSeq: number }>()

  async function load(sessionId: string): Promise<{ projection: Projection; snapshotSeq: number }> {
    const snapshot = await snapshots.load(sessionId)
    const tail = await log.read(sessionId, { after: snapshot?.seq ?? 0 })
    if (snapshot && !tail.events.some(isJump)) {
      for (const event of tail.events) fold(snapshot, event)
      return { projection: snapshot, snapshotSeq: snapshot.seq }
    }
    const whole = snapshot ? await log.read(sessionId) : tail
    return { projection: project(whole.events), snapshotSeq: 0 }
  }

  return {
    async projection(sessionId: string): Promise<Projection> {
      const known = open.get(sessionId)
      if (known) {
        open.delete(sessionId)
        open.set(sessionId, known)
        return known.projection
      }
      const loaded = await load(sessionId)
      open.set(sessionId, loaded)
      for (const [oldest, { projection }] of open) {
        if (open.size <= capacity) break
        if (!projection.turn) open.delete(oldest)
      }
      return loaded.projection
    },
    follow(sessionId: string, events: readonly LoggedEvent[]) {
      const known = open.get(sessionId)
      if (!known) return
      for (const event of events) {
        if (isJump(event) || event.seq !== known.projection.seq + 1) {
          open.delete(sessionId)
          return
        }
        fold(known.projection, event)
      }
    },
    /** Drops the projection from memory; the next read uses snapshot and log. */
    forget: (sessionId: string) => void open.delete(sessionId),
    /** Forgets a projection that ends before `lastSeq`, where another daemon may have written to the session. */
    catchUp({ id, lastSeq }: { id: string; lastSeq: number }) {
      if (stateIn === 'tables' && (open.get(id)?.projection.seq ?? lastSeq) < lastSeq) open.delete(id)
    },
    /** Writes a snapshot where enough has happened since the last one. */
    async settle(sessionId: string) {
      const known = open.get(sessionId)
      if (!known || known.projection.seq - known.snapshotSeq < snapshotEvery) return
      known.snapshotSeq = known.projection.seq
      await snapshots.save(sessionId, known.projection)
    },
  }
}

/** The first message is one of them. */
const firstEvents = 20
const titleCharacters = 80
const previewCharacters = 160
/** Enough for every list that is looked at; the rest is read again. */
const maxKept = 2_000

export type SessionViews = ReturnType<typeof createSessionViews>

/** Sessions as shown in a list: their titles, their newest text, and whether they were read. */
export function createSessionViews(dependencies: {
  database: Database
  log: Pick<SessionLog, 'read' | 'readBackOn' | 'readJumps'>
}) {
  const { database, log } = dependencies
  /** The first message of a session never changes; the newest text is that of its newest event. */
  const beginnings = new Map<string, string>()
  const previews = new Map<string, { seq: number; text: string }>()

  async function beginningOf(sessionId: string): Promise<string | null> {
    const known = beginnings.get(sessionId)
    if (known !== undefined) return known
    const { events } = await log.read(sessionId, { limit: firstEvents })
    const text = oneLine(events.find((event) => event.type === 'message_received')?.text ?? '', titleCharacters)
    if (text === '') return null
    setNewest(beginnings, sessionId, text, maxKept)
    return text
  }

  async function previewOf({ id, lastSeq }: Session): Promise<string> {
    const known = previews.get(id)
    if (known?.seq === lastSeq) return known.text
    const path = pathOf(await log.readJumps(id), lastSeq)
    const events = await log.readBackOn(id, { path, limit: 40 })
    const text = oneLine(events.findLast(isSaid)?.text ?? known?.text ?? '', previewCharacters)
    setNewest(previews, id, { seq: lastSeq, text }, maxKept)
    return text
  }

  async function rowsOf(sessions: readonly Pick<Session, 'id'>[]) {
    const ids = sessions.map(({ id }) => id)
    if (ids.length === 0) return new Map()
    const rows = await database.read.selectFrom('session_views').selectAll().where('session_id', 'in', ids).execute()
    return new Map(rows.map((row) => [row.session_id, row]))
  }

  /** For lists of many: two queries, however many there are. */
  async function titlesOf(ids: readonly string[]): Promise<Map<string, string>> {
    const rows = await rowsOf(ids.map((id) => ({ id })))
    const unknown = ids.filter((id) => !(rows.get(id)?.title ?? rows.get(id)?.generated_title ?? beginnings.get(id)))
    if (unknown.length > 0) {
      const first = await database.read
        .selectFrom('session_events')
        .select(['session_id', 'seq', 'turn_id', 'at', 'type', 'data'])
        .where('session_id', 'in', unknown)
        .where('seq', '<=', firstEvents)
        .where('type', '=', 'message_received')
        .orderBy('seq', 'desc')
        .execute()
      for (const { session_id, ...row } of first) {
        const event = eventFromRow(row)
        const text = event?.type === 'message_received' ? oneLine(event.text, titleCharacters) : ''
        if (text !== '') setNewest(beginnings, session_id, text, maxKept)
      }
    }
    return new Map(
      ids.flatMap((id) => {
        const row = rows.get(id)
        const title = row?.title ?? row?.generated_title ?? beginnings.get(id)
        return title === undefined ? [] : [[id, title] as const]
      }),
    )
  }

  async function write(row: {
    session_id: string
    title?: string | null
    read_seq?: number
    pinned?: number
    generated_title?: string
  }): Promise<void> {
    await database.write((writer) =>
      writer
        .insertInto('session_views')
        .values({ title: null, read_seq: 0, ...row })
        .onConflict((conflict) =>
          conflict.column('session_id').doUpdateSet({
            ...(row.title !== undefined && { title: row.title }),
            ...(row.pinned !== undefined && { pinned: row.pinned }),
            ...(row.generated_title !== undefined && { generated_title: row.generated_title }),
            ...(row.read_seq !== undefined && {
              read_seq: sql`case when session_views.read_seq > ${row.read_seq} then session_views.read_seq else ${row.read_seq} end`,
            }),
          }),
        )
        .execute(),
    )
  }

  return {
    async show(sessions: readonly Session[]) {
      const rows = await rowsOf(sessions)
      return Promise.all(
        sessions.map(async (session) => {
          const row = rows.get(session.id)
          const title: string | null = row?.title ?? row?.generated_title ?? (await beginningOf(session.id))
          const isUnread = session.lastSeq > Number(row?.read_seq ?? 0)
          return {
            session,
            title,
            preview: await previewOf(session),
            isUnread,
            isPinned: row?.pinned === 1,
            folderId: row?.folder_id ?? null,
          }
        }),
      )
    },
    titles: titlesOf,
    /** An empty title takes the user's own away. The session is the user's: the caller has looked it up. */
    setTitle: (sessionId: string, title: string) =>
      write({ session_id: sessionId, title: title === '' ? null : title }),
    setGeneratedTitle: (sessionId: string, title: string) => write({ session_id: sessionId, generated_title: title }),
    async hasTitle(sessionId: string): Promise<boolean> {
      const row = (await rowsOf([{ id: sessionId }])).get(sessionId)
      return Boolean(row?.title ?? row?.generated_title)
    },
    setPinned: (sessionId: string, isPinned: boolean) => write({ session_id: sessionId, pinned: isPinned ? 1 : 0 }),
    /** Never goes back. */
    markRead: (sessionId: string, seq: number) => write({ session_id: sessionId, read_seq: seq }),
  }
}

function isSaid(event: LoggedEvent): event is Extract<LoggedEvent, { type: 'message_received' | 'turn_ended' }> {
  return (event.type === 'message_received' || event.type === 'turn_ended') && event.text.trim() !== ''
}

/** A line for a list: without the marks of Markdown and the citations, which say nothing there. */
export function oneLine(text: string, most: number): string {
  const plain = text.replaceAll(/\s*\[memory:[0-9a-f-]+\]/g, '').replaceAll(/\*\*|__|`|^(?:#{1,6}|>) /gm, '')
  const line = plain.replaceAll(/\s+/g, ' ').trim()
  return line.length <= most ? line : `${cutText(line, most - 1).trimEnd()}…`
}

// Raised whenever Projection changes its shape: an older snapshot is then no snapshot, and the log speaks.
const version = 7

type Snapshots = ReturnType<typeof createSnapshots>

/**
 * A projection kept so that a long session opens without reading its whole log. Never the truth: one that is damaged,
 * of another version or ahead of its log is passed over.
 */
export function createSnapshots(dependencies: { database: Database }) {
  const { database } = dependencies
  return {
    async load(sessionId: string): Promise<Projection | undefined> {
      const row = await database.read
        .selectFrom('session_snapshots')
        .innerJoin('sessions', 'sessions.id', 'session_snapshots.session_id')
        .select(['session_snapshots.seq', 'session_snapshots.hash', 'session_snapshots.data', 'sessions.last_seq'])
        .where('session_id', '=', sessionId)
        .executeTakeFirst()
      if (!row || row.hash !== sha256(row.data) || Number(row.seq) > Number(row.last_seq)) return undefined
      const parsed = parseAnyJson(row.data)
      if (!parsed.ok) return undefined
      // The hash proves that these are the bytes written by `save`, so the shape is the one of its version.
      const stored = parsed.value as unknown as { version: number; projection: Projection }
      return stored.version === version ? stored.projection : undefined
    },
    async save(sessionId: string, projection: Projection) {
      const data = JSON.stringify({ version, projection })
      const row = { session_id: sessionId, seq: projection.seq, hash: sha256(data), data }
      await database.write(async (writer) => {
        await writer
          .insertInto('session_snapshots')
          .values(row)
          .onConflict((conflict) => conflict.column('session_id').doUpdateSet({ seq: row.seq, hash: row.hash, data }))
          .execute()
      })
    },
  }
}
