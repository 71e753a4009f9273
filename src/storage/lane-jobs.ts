import type { Writer } from './database.ts'

/** Whose work is done one piece after another: a session. */
export interface Lane {
  /** Which kind of workers looks at it: each kind has places of its own. */
  kind: string
  id: string
}

/**
 * Lanes that are to be looked at, by whichever daemon has a place free. A lane is looked at by one daemon at a time; when
 * that one dies, another one looks. What is to be done there the tables tell, not the job: so one look may serve several
 * requests, and one look too many finds nothing to do.
 */
export interface LaneJobs {
  /** In the unit of the caller: what the unit writes is looked at once it is committed, however soon this process dies. */
  askIn(writer: Writer, lane: Lane, when?: LookWhen): Promise<void>
  ask(lane: Lane, when?: LookWhen): Promise<void>
  /** After the commit of a unit with `askIn`: whoever has a place for the kind looks at once, in this process first. */
  hurry(kind: string): void
  /** Begins to look at lanes of the kind, at so many at once. `look` does not reject. */
  work(kind: string, worker: { atOnce: number; look(id: string): Promise<void> }): Promise<void>
  /** Begins no further look; resolves when none is under way. */
  drain(): Promise<void>
}

export interface LookWhen {
  /** Not before this time; now, where it is absent. An earlier request for the lane is moved to now, never to later. */
  notBefore?: number
}
