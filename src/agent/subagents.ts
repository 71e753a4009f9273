import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { readBundledText } from '../base/files.ts'
import type { Ids } from '../base/ids.ts'
import { parseJson } from '../base/json.ts'
import type { Logger } from '../base/logger.ts'
import { reasonOf } from '../base/text.ts'
import { rounds, untilAborted } from '../base/work.ts'
import type { Models } from '../models/model.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { type Json, subagentChannel } from '../protocol/messages.ts'
import type { Approvals } from '../security/approvals.ts'
import type { Seen } from '../security/permissions.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'
import type { SpawnRow } from '../storage/feature-tables.ts'
import {
  deniedTools,
  type Spawn,
  type SpawnRequest,
  type SpawnResult,
  type Subagents,
  tellResult,
} from '../tools/builtin/subagent-tools.ts'
import type { ToolRegistry, ToolView } from '../tools/registry.ts'
import { CallSuspended, type Tool } from '../tools/tool.ts'
import type { OpenApprovals } from './admission.ts'
import type { Conversations, TurnEnd } from './conversations.ts'
import type { Role } from './roles.ts'
import { turnOutcomeSchema } from './sessions/session-event.ts'
import type { SessionLog } from './sessions/session-log.ts'
import type { Session } from './sessions/sessions.ts'
import { createSubagentQuestions } from './subagent-questions.ts'

/** The parts of sub-agents that conversations use; sub-agents in turn run as sessions. */
export interface SubagentWork extends Subagents {
  roleOf(session: Session): Role
  openApprovals: OpenApprovals
  /** Stops all sub-agents of the conversation, including those that have not started. Returns their number. */
  stopAll(userId: string, sessionId: string): Promise<number>
  /** Reads who is at work. Before the conversations recover, whose turns may be theirs. */
  prepare(): Promise<void>
  /** Resumes the work of an earlier run. Call it after the conversations have recovered. */
  recover(): Promise<void>
}

/** A spawn whose session runs in this process. */
interface Followed {
  sessionId: Promise<string>
  ended: Promise<Spawn>
}

export function createSubagents(dependencies: {
  database: Database
  /** Looked up at every use: they are made after this. */
  conversations: () => Pick<
    Conversations,
    'submit' | 'waitForTurn' | 'stop' | 'events' | 'findSession' | 'historyBack' | 'queue'
  >
  approvals: Pick<Approvals, 'pending' | 'withdrawIn'>
  onChange: SessionLog['onChange']
  /** As the user has them (CLIENT-4). */
  modelsOf: (userId: string) => Models
  tools: ToolRegistry
  /** The kinds of content that a session has had in sight. */
  seenIn(sessionId: string): Promise<Seen>
  limits: () => { maxRounds: number; maxAtOnce: number }
  /** Aborts with `CallSuspended` when the daemon begins to stop. */
  stopping: AbortSignal
  clock: Clock
  ids: Ids
  logger: Logger
}): SubagentWork {
  const { conversations, modelsOf, tools, limits, stopping, logger } = dependencies
  const store = createSpawnStore(dependencies)
  const questions = createSubagentQuestions(dependencies)
  /** Those that may work. Not in here, a session has the role of one that rests. */
  const atWork = new Map<string, Spawn>()
  const followed = new Map<string, Followed>()

  function follow(spawn: Spawn): Followed {
    const known = followed.get(spawn.id)
    if (known) return known
    const receipt = begin(spawn)
    const ended = receipt.then(async ({ messageId, sessionId }) => {
      const first = await conversations().waitForTurn(messageId)
      const isStopped = async () => (await store.find(spawn.id)).state !== 'running'
      const waiting = { spawn, sessionId }
      const { end, hasAsked } = await questions.settled(waiting, first, { signal: stopping, isStopped })
      const result = resultOf(end, spawn, await dependencies.seenIn(sessionId))
      if (hasAsked && !(await isStopped())) {
        const told = { text: tellResult(result), isUntrusted: result.seen.untrusted }
        await questions.reported(waiting, told, stopping)
      }
      return finish(spawn, result)
    })
    const entry = {
      sessionId: receipt.then(({ sessionId }) => sessionId),
      ended: ended.catch((cause) => lost(spawn, cause)),
    }
    followed.set(spawn.id, entry)
    entry.sessionId.catch(() => undefined)
    entry.ended.catch(() => undefined)
    return entry
  }

  /** The same spawn again is the same message: nothing in it may depend on when it is sent. */
  function begin({ id, userId, request }: Spawn) {
    return conversations().submit({
      userId,
      channel: subagentChannel,
      contact: id,
      sender: 'familiar',
      source: subagentChannel,
      tier: 'full',
      text: request.task,
      media: [],
      key: `spawn:${id}`,
      immediate: true,
      metadata: {},
      label: 'internal',
    })
  }

  /** Resolves when it waits for its user. Never, if it does not. */
  async function untilAsked({ id }: Spawn, signal: AbortSignal): Promise<Spawn> {
    for await (const _ of rounds(signal, (wake) => questions.onChange(id, wake))) {
      const spawn = await store.find(id)
      const asks = await questions.asksOf(spawn)
      if (asks.length > 0) return { ...spawn, asks }
    }
    return new Promise(() => undefined)
  }

  async function finish(spawn: Spawn, result: SpawnResult): Promise<Spawn> {
    const ended = await store.end(spawn.id, stateAfter(result), result)
    atWork.delete(spawn.id)
    followed.delete(spawn.id)
    return ended
  }

  /** Its end is unknown here. If the daemon is stopping, it continues at the next start; otherwise it never started. */
  async function lost(spawn: Spawn, cause: unknown): Promise<Spawn> {
    followed.delete(spawn.id)
    if (stopping.aborted) throw new CallSuspended()
    const text = reasonOf(cause)
    logger.error('a sub-agent could not be followed', { spawn: spawn.id, error: text })
    return finish(spawn, { outcome: 'failed', text, seen: spawn.request.seen })
  }

  return {
    async spawn({ request, ...call }) {
      const checked = checkSpawnRequest({ request, models: modelsOf(call.userId), tools: tools.viewOf(call.userId) })
      const spawn = await store.begin({ ...call, request: checked, maxAtOnce: limits().maxAtOnce })
      if (spawn.state === 'running') atWork.set(spawn.id, spawn)
      if (!spawn.result) follow(spawn)
      return spawn
    },
    async ended(spawn, { signal, progress }) {
      signal.throwIfAborted()
      const known = await store.find(spawn.id)
      if (known.result) return known
      const { sessionId, ended } = follow(known)
      const over = new AbortController()
      const leave = questions.attend(spawn.id)
      const either = AbortSignal.any([over.signal, signal])
      const watched = sessionId.then((id) =>
        watchSubagent({ conversations: conversations(), spawn: known, sessionId: id, signal: either, progress }),
      )
      watched.catch((cause) => logger.debug('a sub-agent could not be watched', { error: String(cause) }))
      try {
        const stop = AbortSignal.any([stopping, signal])
        return await untilAborted(Promise.race([ended, untilAsked(known, AbortSignal.any([stop, over.signal]))]), stop)
      } finally {
        over.abort()
        leave()
      }
    },
    list: store.list,
    async openApprovals({ id, userId }) {
      const pending = await dependencies.approvals.pending(userId)
      if (pending.every(({ sessionId }) => sessionId === id)) return pending
      const sessions = [id, ...(await store.list(userId, id)).map(({ sessionId }) => sessionId)]
      return pending.filter(({ sessionId }) => sessions.includes(sessionId))
    },
    roleOf(session) {
      const spawn = atWork.get(session.contact)
      if (spawn?.userId !== session.userId) return restingRole
      return subagentRole(spawn, tools.viewOf(spawn.userId), limits().maxRounds)
    },
    async stopAll(userId, sessionId) {
      const stopped = await store.stopAll(userId, sessionId)
      for (const { id, sessionId: own } of stopped) {
        // From here on it has no tools and no rounds, even if its turn has not started.
        atWork.delete(id)
        questions.wake(id)
        if (own !== null) await conversations().stop(userId, own)
      }
      return stopped.length
    },
    async prepare() {
      for (const spawn of await store.open()) if (spawn.state === 'running') atWork.set(spawn.id, spawn)
    },
    async recover() {
      for (const spawn of await store.open()) follow(spawn)
    },
  }
}

function resultOf({ outcome, text }: Pick<TurnEnd, 'outcome' | 'text'>, { request }: Spawn, seen: Seen): SpawnResult {
  const untrusted = seen.untrusted || request.seen.untrusted
  return { outcome, text, seen: { untrusted, private: seen.private || request.seen.private } }
}

function stateAfter({ outcome }: SpawnResult): SpawnRow['state'] {
  if (outcome === 'stopped') return 'stopped'
  return outcome === 'completed' || outcome === 'question' ? 'done' : 'failed'
}

/** The request with its tools by their own names; throws an error that names what is not available. */
function checkSpawnRequest(wanted: { request: SpawnRequest; models: Models; tools: ToolView }): SpawnRequest {
  const { request, models, tools } = wanted
  if (request.model !== null && !models.byId(request.model)) {
    const known = models.list().map(({ info }) => info.id)
    throw new FamiliarError('bad_request', `Unknown model ${request.model}. Known models: ${known.join(', ')}`)
  }
  if (!request.tools) return request
  const names = request.tools.map((wantedName) => {
    const name = tools.find(wantedName)?.definition.name
    if (name === undefined) throw new FamiliarError('bad_request', `There is no tool named ${wantedName} to pass on`)
    if (deniedTools.has(name)) throw new FamiliarError('bad_request', `A sub-agent cannot have ${name}`)
    return name
  })
  return { ...request, tools: [...new Set(names)] }
}

const seen = z.object({ untrusted: z.boolean(), private: z.boolean() })
const requestSchema = z.object({
  task: z.string(),
  tools: z.array(z.string()).nullable(),
  model: z.string().nullable(),
  seen,
})
const resultSchema = z.object({ outcome: turnOutcomeSchema, text: z.string(), seen })

/** Parses a stored row. A damaged row is an error and never guessed at, because its trust would be lost. */
function spawnFromRow(row: SpawnRow & { session_id: string | null }): Spawn {
  return {
    id: row.id,
    userId: row.user_id,
    parentSessionId: row.parent_session_id,
    parentTurnId: row.parent_turn_id,
    request: read(row.id, row.request, requestSchema),
    state: row.state,
    result: row.result === null ? null : read(row.id, row.result, resultSchema),
    sessionId: row.session_id,
    createdAt: Number(row.created_at),
    endedAt: row.ended_at === null ? null : Number(row.ended_at),
  }
}

function read<T>(id: string, text: string, schema: z.ZodType<T>): T {
  const parsed = parseJson(text, schema)
  if (!parsed.ok) throw new FamiliarError('internal', `The row of spawn ${id} is damaged: ${parsed.message}`)
  return parsed.value
}

type WantedSpawn = Parameters<Subagents['spawn']>[0] & { maxAtOnce: number }

function createSpawnStore(dependencies: {
  database: Database
  approvals: Pick<Approvals, 'withdrawIn'>
  clock: Clock
  ids: Ids
}) {
  const { database, approvals, clock, ids } = dependencies

  return {
    /** The spawn that this call started before, or a new one, counted in the same unit. */
    begin: (wanted: WantedSpawn): Promise<Spawn> =>
      database.write(async (writer) => {
        const { sessionId, callId, maxAtOnce } = wanted
        const of = writer.selectFrom('spawns').where('parent_session_id', '=', sessionId)
        const known = await of.select(['id', 'user_id']).where('call_id', '=', callId).executeTakeFirst()
        if (known && known.user_id === wanted.userId) return findIn(writer, known.id)
        await refuseDepth(writer, wanted)
        const busy = await of.select('id').where('state', '=', 'running').execute()
        if (busy.length >= maxAtOnce) {
          const text = `${busy.length} sub-agents are running, which is the limit. Wait for one with sessions_wait.`
          throw new FamiliarError('conflict', text)
        }
        const row: SpawnRow = {
          id: ids.next(),
          user_id: wanted.userId,
          parent_session_id: sessionId,
          parent_turn_id: wanted.turnId,
          call_id: callId,
          depth: 1,
          request: JSON.stringify(wanted.request),
          state: 'running',
          result: null,
          created_at: clock.now(),
          ended_at: null,
        }
        await writer.insertInto('spawns').values(row).execute()
        return findIn(writer, row.id)
      }),
    /** The first end counts; a spawn that was stopped stays stopped. */
    end: (id: string, state: SpawnRow['state'], result: SpawnResult): Promise<Spawn> =>
      database.write(async (writer) => {
        const known = await findIn(writer, id)
        if (known.result) return known
        await writer
          .updateTable('spawns')
          .set({
            state: known.state === 'running' ? state : known.state,
            result: JSON.stringify(known.state === 'stopped' ? asStopped(result) : result),
            ended_at: clock.now(),
          })
          .where('id', '=', id)
          .execute()
        return findIn(writer, id)
      }),
    stopAll: (userId: string, sessionId: string): Promise<Spawn[]> =>
      database.write(async (writer) => {
        const rows = await select(writer)
          .where('spawns.user_id', '=', userId)
          .where('spawns.parent_session_id', '=', sessionId)
          .where('spawns.state', '=', 'running')
          .execute()
        for (const { id, session_id: own } of rows) {
          await writer.updateTable('spawns').set({ state: 'stopped' }).where('id', '=', id).execute()
          if (own !== null) await approvals.withdrawIn(writer, { userId, sessionId: own })
        }
        return rows.map(spawnFromRow)
      }),
    find: (id: string): Promise<Spawn> => findIn(database.read, id),
    async list(userId: string, sessionId: string): Promise<Spawn[]> {
      const rows = await select(database.read)
        .where('spawns.user_id', '=', userId)
        .where('spawns.parent_session_id', '=', sessionId)
        .orderBy('spawns.created_at')
        .orderBy('spawns.id')
        .execute()
      return rows.map(spawnFromRow)
    },
    /** Those without a result, of all users. */
    async open(): Promise<Spawn[]> {
      const rows = await select(database.read).where('spawns.result', 'is', null).execute()
      return rows.flatMap((row) => {
        try {
          return [spawnFromRow(row)]
        } catch {
          // A damaged row must not hold up the others.
          return []
        }
      })
    },
  }
}

/** Stopped before it began, its session says only that it had no rounds. */
function asStopped(result: SpawnResult): SpawnResult {
  return result.outcome === 'stopped' ? result : { ...result, outcome: 'stopped', text: 'Stopped.' }
}

/** A sub-agent has no such tool; this also holds if it were given one. */
async function refuseDepth(writer: Writer, { userId, sessionId }: WantedSpawn): Promise<void> {
  const parent = await writer
    .selectFrom('sessions')
    .select('channel')
    .where('id', '=', sessionId)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  if (!parent) throw new FamiliarError('not_found', `There is no session ${sessionId}`)
  if (parent.channel === subagentChannel) throw new FamiliarError('forbidden', 'A sub-agent cannot start sub-agents')
}

async function findIn(reader: Reader | Writer, id: string): Promise<Spawn> {
  return spawnFromRow(await select(reader).where('spawns.id', '=', id).executeTakeFirstOrThrow())
}

/** With its session, if there is one. */
function select(reader: Reader | Writer) {
  return reader
    .selectFrom('spawns')
    .leftJoin('sessions', (join) =>
      join
        .onRef('sessions.contact', '=', 'spawns.id')
        .onRef('sessions.user_id', '=', 'spawns.user_id')
        .on('sessions.channel', '=', subagentChannel),
    )
    .selectAll('spawns')
    .select('sessions.id as session_id')
}

/**
 * A subset of the parent's tools, evaluated at every read: a tool that the parent loses is lost here too (SEC-17).
 * Named tools have their schema in every request, because they are few and were chosen for the task.
 */
function subagentToolView(parent: ToolView, names: readonly string[] | null): ToolView {
  const isGiven = ({ definition: { name } }: Tool) => !deniedTools.has(name) && (!names || names.includes(name))
  const given = (tool: Tool): Tool => (names ? { ...tool, core: true } : tool)
  function find(name: string): Tool | undefined {
    const tool = parent.find(name)
    return tool && isGiven(tool) ? given(tool) : undefined
  }
  return {
    find,
    // Looked up one by one: what shelves hold is not in the parent's list.
    list: () => (names ? [...names].sort().flatMap((name) => find(name) ?? []) : parent.list().filter(isGiven)),
  }
}

const prompt = readBundledText(new URL('./prompts/subagent.md', import.meta.url))

const common: Pick<Role, 'system' | 'purpose' | 'remembers' | 'news'> = {
  system: () => [{ name: 'subagent', layer: 'stable', text: prompt }],
  purpose: 'subagent',
  remembers: false,
  news: async () => undefined,
}

function subagentRole(spawn: Spawn, parentTools: ToolView, maxRounds: number): Role {
  const { tools, model, seen } = spawn.request
  return {
    ...common,
    tools: subagentToolView(parentTools, tools),
    holdsPrivate: () => seen.private,
    ...(seen.untrusted && { holdsUntrusted: true }),
    ...(model !== null && { model }),
    countsTo: spawn.parentTurnId,
    parentSessionId: spawn.parentSessionId,
    maxRounds,
  }
}

/** The role when no sub-agent is working: it calls no model, so that the turn ends. */
const restingRole: Role = {
  ...common,
  tools: { find: () => undefined, list: () => [] },
  holdsPrivate: () => true,
  holdsUntrusted: true,
  maxRounds: 0,
}

/** Reports the sub-agent's tools to the watchers of the parent's call, until the signal aborts. */
async function watchSubagent(watch: {
  conversations: Pick<Conversations, 'events'>
  spawn: Spawn
  sessionId: string
  signal: AbortSignal
  progress(data: Json): void
}): Promise<void> {
  const { conversations, spawn, sessionId, signal, progress } = watch
  const place = { spawn_id: spawn.id, session_id: sessionId }
  progress({ ...place, state: 'working' })
  for await (const { event } of await conversations.events(spawn.userId, sessionId, '0', signal)) {
    if (event.type === 'tool_start') progress({ ...place, state: 'tool', tool: event.name })
    if (event.type === 'turn_end') progress({ ...place, state: 'ended', outcome: event.outcome })
  }
}
