import { z } from 'zod'
import { camelKeys, parseJson } from '../../base/json.ts'
import type { Wakeups } from '../../base/work.ts'
import { choicesIn, offerFields } from '../../protocol/choices.ts'
import { type BuildEvent, type BuildQuestion, buildEventSchema } from '../../protocol/custom-tools.ts'
import type { Json } from '../../protocol/messages.ts'
import type { Seen } from '../../security/permissions.ts'
import type { Reader, Writer } from '../../storage/database.ts'
import type { BuildEventRow, BuildQuestionRow, BuildRow } from '../../storage/feature-tables.ts'
import { jsonObjectSchema } from '../manifest.ts'

export type Build = ReturnType<typeof toBuild>

/** Starts and stops the agent's loop that does the work of a build. */
export interface BuildWork {
  /** Begins the loop, once for each build however often it is called; resolves when that is durable. */
  begin(build: Build, text: string): Promise<void>
  stop(build: Build): Promise<void>
  /** `alive`: it waits, runs or will be resumed. */
  state(build: Build): Promise<'unbegun' | 'alive' | 'over'>
}

export const seenSchema = z.object({ untrusted: z.boolean(), private: z.boolean() })

const requestSchema = z.object({
  description: z.string(),
  inputSchema: jsonObjectSchema,
  /** Of a repair: what failed, and with what. */
  failure: z.object({ input: z.custom<Json>((value) => value !== undefined), error: z.string() }).nullable(),
  /** The untrusted or private text that its conversation had read. The build inherits it (SEC-17). */
  seen: seenSchema,
})
export type BuildRequest = z.infer<typeof requestSchema>

type NamedBuildRow = Omit<BuildRow, 'is_told'> & { name: string; is_waiting?: unknown }

export function selectBuilds(reader: Reader | Writer) {
  return reader
    .selectFrom('builds')
    .innerJoin('capabilities', 'capabilities.id', 'builds.capability_id')
    .selectAll('builds')
    .select('capabilities.name as name')
    .select((builder) =>
      builder
        .exists(
          builder
            .selectFrom('build_questions')
            .select('build_questions.id')
            .whereRef('build_questions.build_id', '=', 'builds.id')
            .where('build_questions.state', '=', 'asked'),
        )
        .as('is_waiting'),
    )
}

export function toBuild(row: NamedBuildRow) {
  const { call_id: _call, updated_at: _updated, is_waiting, ...rest } = row
  const request = parseJson(row.request, requestSchema)
  if (!request.ok) throw new Error(`The request of build ${row.id} cannot be read: ${request.message}`)
  return {
    ...camelKeys(rest),
    request: request.value,
    /** It runs, and waits for the user to answer a question. */
    isWaiting: row.state === 'running' && Boolean(is_waiting),
  }
}

export async function isRunningIn(writer: Writer, buildId: string): Promise<boolean> {
  const row = await writer.selectFrom('builds').select('state').where('id', '=', buildId).executeTakeFirst()
  return row?.state === 'running'
}

type Body<Event> = Event extends BuildEvent ? Omit<Event, 'build_id' | 'seq' | 'at'> : never
export type BuildEventBody = Body<BuildEvent>

/** Internal data of an event: the call that made it, and what that call had read. */
interface Aside {
  call_id?: string
  seen?: Seen
}

const asideSchema = z.object({ seen: seenSchema.optional() })
const bodySchema = z.record(z.string(), z.json())

/** The caller wakes the readers after the unit is committed. */
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
  const row = {
    build_id: buildId,
    seq: Number(newest?.seq ?? 0) + 1,
    type,
    data: JSON.stringify({ ...rest, ...aside }),
    at,
  }
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
    .where('data', '=', JSON.stringify({ ...rest, ...event.aside }))
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

/** Whether the Builder ever read untrusted text, according to its events. */
export async function hasSeenForeignWords(reader: Reader, build: Build): Promise<boolean> {
  if (build.request.seen.untrusted) return true
  const rows = await reader.selectFrom('build_events').select('data').where('build_id', '=', build.id).execute()
  return rows.some(({ data }) => {
    const aside = parseJson(data, asideSchema)
    return !aside.ok || aside.value.seen?.untrusted === true
  })
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

const ofHost = 'host.'

/** Of the call that asks: made again after a restart, it finds its question. */
export function questionId(build: Pick<Build, 'id'>, callId: string): string {
  // Some servers choose the ids of calls, and none of them may pass for the question about a host.
  return `${build.id}.${callId.startsWith(ofHost) ? `call.${callId}` : callId}`
}

export function hostQuestionId(build: Pick<Build, 'id'>, host: string): string {
  return `${build.id}.${ofHost}${host}`
}

/** Only the user can allow a host: a model may not answer such a question. */
export function isForHandAlone({ id, build_id }: Pick<BuildQuestionRow, 'id' | 'build_id'>): boolean {
  return id.startsWith(hostQuestionId({ id: build_id }, ''))
}

export type NamedQuestionRow = BuildQuestionRow & { name: string; build_state: BuildRow['state'] }

const askedSchema = z.object({ question_id: z.string(), seen: seenSchema, ...offerFields })

export function findQuestion(
  reader: Reader | Writer,
  userId: string,
  id: string,
): Promise<NamedQuestionRow | undefined> {
  return selectQuestions(reader, userId).where('build_questions.id', '=', id).executeTakeFirst()
}

/** Those that can be answered, oldest first. */
export function findOpenQuestions(reader: Reader | Writer, userId: string, now: number): Promise<NamedQuestionRow[]> {
  return selectQuestions(reader, userId)
    .where('builds.state', '=', 'running')
    .where('build_questions.state', '=', 'asked')
    .where('build_questions.expires_at', '>', now)
    .orderBy('build_questions.asked_at')
    .orderBy('build_questions.id')
    .execute()
}

/** With what its Builder had in sight: the event of the question has that. */
export async function toQuestion(reader: Reader, row: NamedQuestionRow): Promise<BuildQuestion> {
  const events = await reader
    .selectFrom('build_events')
    .select('data')
    .where('build_id', '=', row.build_id)
    .where('type', 'in', ['question', 'secret_request'])
    .execute()
  const asked = events.map(({ data }) => parseJson(data, askedSchema))
  const own = asked.find((event) => event.ok && event.value.question_id === row.id)
  const { state: _state, answer: _answer, build_state: _build, ...shown } = row
  const choices = own?.ok ? choicesIn(own.value) : undefined
  return { ...camelKeys(shown), ...(choices && { choices }), isUntrusted: !own?.ok || own.value.seen.untrusted }
}

function selectQuestions(reader: Reader | Writer, userId: string) {
  return reader
    .selectFrom('build_questions')
    .innerJoin('builds', 'builds.id', 'build_questions.build_id')
    .innerJoin('capabilities', 'capabilities.id', 'builds.capability_id')
    .selectAll('build_questions')
    .select(['capabilities.name as name', 'builds.state as build_state'])
    .where('builds.user_id', '=', userId)
}

export const anyBuild = 'builds'

export function wakeBuild(wakeups: Wakeups, buildId: string): void {
  wakeups.wake(`build:${buildId}`)
  wakeups.wake(anyBuild)
}

/**
 * Listens to a build until `stop`. A change between two waits ends the next wait at once, so a reader misses nothing.
 * An abort ends every wait.
 */
export function listenToBuild(buildId: string, { wakeups, signal }: { wakeups: Wakeups; signal: AbortSignal }) {
  let woken = Promise.withResolvers<void>()
  const wake = () => woken.resolve()
  const unsubscribe = wakeups.on(`build:${buildId}`, wake)
  signal.addEventListener('abort', wake, { once: true })
  return {
    wake,
    async wait(): Promise<void> {
      if (signal.aborted) return
      await woken.promise
      woken = Promise.withResolvers<void>()
    },
    stop(): void {
      unsubscribe()
      signal.removeEventListener('abort', wake)
    },
  }
}
