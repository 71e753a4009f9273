import { fold, type Projection, project } from './projection.ts'
import type { LoggedEvent } from './session-event.ts'
import type { SessionLog } from './session-log.ts'
import type { Snapshots } from './snapshots.ts'

/** Events between two snapshots: opening a session reads at most about this many. */
const snapshotEvery = 200

/**
 * The projections of the sessions in use, kept in memory and followed event by event. Whoever records events of a
 * session hands them to `follow`; only one turn writes to a session at a time.
 */
export interface OpenSessions {
  projection(sessionId: string): Promise<Projection>
  follow(sessionId: string, events: readonly LoggedEvent[]): void
  /** Forgets what is in memory; the next look reads snapshot and log. */
  forget(sessionId: string): void
  /** Forgets what is behind `lastSeq`: another daemon has written to the session. */
  catchUp(session: { id: string; lastSeq: number }): void
  /** Writes a snapshot where enough has happened since the last one. */
  settle(sessionId: string): Promise<void>
}

export function createOpenSessions(dependencies: {
  log: SessionLog
  snapshots: Snapshots
  /** How many sessions stay in memory; the least recently used one without a turn under way goes first. */
  capacity?: number
}): OpenSessions {
  const { log, snapshots, capacity = 64 } = dependencies
  const open = new Map<string, { projection: Projection; snapshotSeq: number }>()

  async function load(sessionId: string): Promise<{ projection: Projection; snapshotSeq: number }> {
    const snapshot = await snapshots.load(sessionId)
    const tail = await log.read(sessionId, { after: snapshot?.seq ?? 0 })
    const rewound = tail.events.some((event) => event.type === 'rewound')
    if (snapshot && !rewound) {
      for (const event of tail.events) fold(snapshot, event)
      return { projection: snapshot, snapshotSeq: snapshot.seq }
    }
    const whole = snapshot ? await log.read(sessionId) : tail
    return { projection: project(whole.events), snapshotSeq: 0 }
  }

  return {
    async projection(sessionId) {
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
    follow(sessionId, events) {
      const known = open.get(sessionId)
      if (!known) return
      for (const event of events) {
        if (event.type === 'rewound' || event.seq !== known.projection.seq + 1) {
          open.delete(sessionId)
          return
        }
        fold(known.projection, event)
      }
    },
    forget: (sessionId) => void open.delete(sessionId),
    catchUp({ id, lastSeq }) {
      if ((open.get(id)?.projection.seq ?? lastSeq) < lastSeq) open.delete(id)
    },
    async settle(sessionId) {
      const known = open.get(sessionId)
      if (!known || known.projection.seq - known.snapshotSeq < snapshotEvery) return
      known.snapshotSeq = known.projection.seq
      await snapshots.save(sessionId, known.projection)
    },
  }
}
