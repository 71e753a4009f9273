import { isDeepStrictEqual } from 'node:util'
import { project } from '../../../src/agent/sessions/projection.ts'
import { sha256 } from '../../../src/base/ids.ts'
import type { Recorded } from './recorded.ts'

/** The file is sound, the log of every session is whole, and a snapshot says what the log says. */
export function checkStorage(recorded: Recorded): string[] {
  return [
    ...recorded.integrity.map((line) => `broken integrity: ${line}`),
    ...recorded.brokenReferences.map((line) => `broken reference: ${line}`),
    ...recorded.damagedEvents.map((place) => `damaged event: ${place}`),
    ...recorded.sessions.flatMap((session) => checkPlaces(recorded, session.id, session.last_seq)),
    ...checkSnapshots(recorded),
  ]
}

function checkPlaces(recorded: Recorded, sessionId: string, lastSeq: number): string[] {
  const places = recorded.places.get(sessionId) ?? []
  const expected = Array.from({ length: lastSeq }, (_, index) => index + 1)
  if (isDeepStrictEqual(places, expected)) return []
  return [`gap in the log: session ${sessionId} holds ${places.length} events, its newest is ${lastSeq}`]
}

function checkSnapshots({ snapshots, events }: Recorded): string[] {
  return snapshots.flatMap(({ session_id, seq, hash, data }) => {
    if (hash !== sha256(data)) return [`damaged snapshot: session ${session_id}`]
    const told = project((events.get(session_id) ?? []).filter((event) => event.seq <= seq))
    // By way of JSON, which knows no undefined.
    const same = isDeepStrictEqual(JSON.parse(data).projection, JSON.parse(JSON.stringify(told)))
    return same ? [] : [`false snapshot: session ${session_id} at ${seq} differs from its log`]
  })
}
