import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import type { Seen } from '../../../policy/gate.ts'
import { type BuildEvent, buildEventSchema } from '../../../protocol/build-api.ts'
import type { BuildEventRow } from '../../../storage/capability-tables.ts'
import type { Reader, Writer } from '../../../storage/database.ts'
import { seenSchema } from './build-row.ts'
import type { Build } from './builds.ts'

type Body<Event> = Event extends BuildEvent ? Omit<Event, 'build_id' | 'seq' | 'at'> : never
export type BuildEventBody = Body<BuildEvent>

/** What lies beside an event and is told to nobody: the call that made it, and what was in sight of it. */
interface Aside {
  call_id?: string
  seen?: Seen
}

const terminalTypes: readonly BuildEventRow['type'][] = ['complete', 'error']
const asideSchema = z.object({ seen: seenSchema.optional() })
const bodySchema = z.record(z.string(), z.json())

export function isTerminal({ type }: Pick<BuildEvent, 'type'>): boolean {
  return terminalTypes.includes(type)
}

/** Whoever appends wakes the readers, once the unit is committed. */
export async function appendEventIn(
  writer: Writer,
  event: { buildId: string; at: number; body: BuildEventBody; aside?: Aside },
): Promise<void> {
  const { buildId, at, body, aside } = event
  const { type, ...rest } = body
  const newest = await writer
    .selectFrom('build_events')
    .select((select) => select.fn.max('seq').as('seq'))
    .where('build_id', '=', buildId)
    .executeTakeFirst()
  const row = { build_id: buildId, seq: Number(newest?.seq ?? 0) + 1, type, data: dataOf(rest, aside), at }
  await writer.insertInto('build_events').values(row).execute()
}

/** Whether this very event was written before: the call that makes it may run again after a crash. */
export async function hasEventIn(
  writer: Writer,
  event: { buildId: string; body: BuildEventBody; aside: Aside },
): Promise<boolean> {
  const { type, ...rest } = event.body
  const found = await writer
    .selectFrom('build_events')
    .select('seq')
    .where('build_id', '=', event.buildId)
    .where('type', '=', type)
    .where('data', '=', dataOf(rest, event.aside))
    .executeTakeFirst()
  return found !== undefined
}

export async function readEvents(reader: Reader, buildId: string, after: number): Promise<BuildEvent[]> {
  const rows = await reader
    .selectFrom('build_events')
    .selectAll()
    .where('build_id', '=', buildId)
    .where('seq', '>', after)
    .orderBy('seq')
    .execute()
  return rows.map(toEvent)
}

/** Whether a reader that stands at `seq` has seen the build's end. */
export async function hasSeenEnd(reader: Reader, buildId: string, seq: number): Promise<boolean> {
  const end = await reader
    .selectFrom('build_events')
    .select('seq')
    .where('build_id', '=', buildId)
    .where('type', 'in', terminalTypes)
    .where('seq', '<=', seq)
    .executeTakeFirst()
  return end !== undefined
}

/** Whether text of others was in sight of the Builder at any time, by what its events know of it. */
export async function hasSeenForeignWords(reader: Reader, build: Build): Promise<boolean> {
  if (build.request.seen.untrusted) return true
  const rows = await reader.selectFrom('build_events').select('data').where('build_id', '=', build.id).execute()
  return rows.some(({ data }) => {
    const aside = parseJson(data, asideSchema)
    return !aside.ok || aside.value.seen?.untrusted === true
  })
}

function dataOf(body: object, aside: Aside | undefined): string {
  return JSON.stringify({ ...body, ...aside })
}

function toEvent(row: BuildEventRow): BuildEvent {
  const body = parseJson(row.data, bodySchema)
  const event = buildEventSchema.safeParse({
    ...(body.ok ? body.value : {}),
    build_id: row.build_id,
    seq: Number(row.seq),
    at: new Date(Number(row.at)).toISOString(),
    type: row.type,
  })
  if (!event.success) throw new Error(`Event ${row.seq} of build ${row.build_id} cannot be read`)
  return event.data
}
