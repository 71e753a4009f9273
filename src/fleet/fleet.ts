import { createWakeups, type Wakeups } from '../base/work.ts'
import type { Json } from '../protocol/messages.ts'
import type { Writer } from '../storage/database.ts'

/** `api` takes messages in and shows what becomes of them, `worker` answers them, `all` does both. */
export type DaemonRole = 'api' | 'worker' | 'all'

/** The daemons that share one database, as one of them sees them. */
export interface Fleet {
  /** Of this daemon, for as long as it lives. */
  readonly daemonId: string
  readonly role: DaemonRole
  readonly notices: Notices
  readonly jobs: LaneJobs
  /**
   * Calls once this daemon has become the leader: at once, or when the previous leader is gone. It stays the leader
   * until `lost`.
   */
  onLead(begin: () => void): void
  /**
   * Resolves with the reason when the connection by which the others see this daemon has broken. They take it for dead
   * and hand its work on, so it must stop what it does; nothing that it still writes to a turn is taken.
   */
  readonly lost: Promise<string>
  /** The others see it go. After the jobs are drained. */
  close(): Promise<void>
}

/** Whose work is done one piece after another: a session. */
export interface Lane {
  /** The kind of workers for it: each kind has separate places. */
  kind: string
  id: string
}

/**
 * Lanes with work, for any daemon that has a free place. One daemon at a time looks at a lane; if it dies, another one
 * does. The tables say what to do, not the job: one look may serve several requests, and an extra look finds nothing to
 * do.
 */
export interface LaneJobs {
  /** In the unit of the caller: what the unit writes is looked at once it is committed, however soon this process dies. */
  askIn(writer: Writer, lane: Lane, when?: LookWhen): Promise<void>
  ask(lane: Lane, when?: LookWhen): Promise<void>
  /** After the commit of a unit with `askIn`: a free place for this kind looks at once, in this process first. */
  hurry(kind: string): void
  /** Starts to work on lanes of the kind, with this many at once. `look` does not reject. */
  work(kind: string, worker: { atOnce: number; look(id: string): Promise<void> }): Promise<void>
  /** Begins no further look; resolves when none is under way. */
  drain(): Promise<void>
}

export interface LookWhen {
  /** Not before this time; now, where it is absent. An earlier request for the lane is moved to now, never to later. */
  notBefore?: number
}

/**
 * Short notices between the daemons that share a database. They are fast but not reliable: the receiver reads the data
 * from the tables, and reads everything after a gap. A daemon does not receive its own.
 */
export interface Notices {
  /**
   * Returns at once. Several notices of the same moment are sent together; notices larger than a few kilobytes are not
   * sent.
   */
  publish(topic: string, data: Json): void
  /** Calls until the returned function is called. */
  on(topic: string, listener: (data: Json) => void): () => void
  /** A notice may have been missed: a daemon died before it could send one. */
  onGap(listener: () => void): () => void
}

/**
 * Wake-ups under one name that reach the other daemons too. After a gap all waiters are woken; those with nothing new
 * go back to sleep.
 */
export function createSharedWakeups(notices: Notices, name: string): Wakeups {
  const local = createWakeups()
  const waiting = new Map<string, number>()
  notices.on(`wake:${name}`, (topic) => {
    if (typeof topic === 'string') local.wake(topic)
  })
  notices.onGap(() => {
    for (const topic of [...waiting.keys()]) local.wake(topic)
  })
  return {
    ...local,
    wake(topic) {
      local.wake(topic)
      notices.publish(`wake:${name}`, topic)
    },
    on(topic, listener) {
      waiting.set(topic, (waiting.get(topic) ?? 0) + 1)
      const unfollow = local.on(topic, listener)
      return () => {
        unfollow()
        const left = (waiting.get(topic) ?? 1) - 1
        if (left > 0) waiting.set(topic, left)
        else waiting.delete(topic)
      }
    },
  }
}
