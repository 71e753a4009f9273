import { z } from 'zod'
import type { Clock } from '../base/clock.ts'
import { parseAnyJson, parseJson, snakeKeys } from '../base/json.ts'
import { rounds, untilAborted, type Wakeups } from '../base/work.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Json, ToolDefinition } from '../protocol/messages.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'
import type { ClientCallRow } from '../storage/feature-tables.ts'
import type { ToolView } from '../tools/registry.ts'
import type { Tool, ToolContext, ToolOutcome } from '../tools/tool.ts'
import type { Coordination } from './coordination.ts'

export interface ClientCall {
  id: string
  name: string
  arguments: Json
  /** Later results are refused. */
  expiresAt: number
}

interface ClientResult {
  callId: string
  result: Json
  isError: boolean
  isUntrusted: boolean
}

export interface ClientAnswer {
  userId: string
  sessionId: string
  results: readonly ClientResult[]
}

const resultSchema = z.object({ text: z.string(), isUntrusted: z.boolean() })

type StoredCall = Awaited<ReturnType<typeof findIn>>

type AskedCall = Omit<ClientCall, 'id'> & Pick<ToolContext, 'userId' | 'sessionId' | 'turnId' | 'callId'>

type CallKey = Pick<AskedCall, 'sessionId' | 'callId'>

function createClientCallStore(dependencies: { database: Database; clock: Clock }) {
  const { database, clock } = dependencies

  async function answerOne(writer: Writer, userId: string, key: CallKey, given: ClientResult): Promise<string> {
    const row = await rowOf(writer, key)
    if (!row || row.user_id !== userId) {
      throw new FamiliarError('not_found', `There is no call ${JSON.stringify(key.callId)} in the session`)
    }
    if (row.state === 'answered') {
      throw new FamiliarError('conflict', `Call ${key.callId} already has a result; the first one counts`)
    }
    if (row.state === 'expired' || Number(row.expires_at) <= clock.now()) {
      throw new FamiliarError(
        'conflict',
        `The result of call ${key.callId} arrived after its timeout, and the model already continued without it`,
      )
    }
    const text = typeof given.result === 'string' ? given.result : JSON.stringify(given.result)
    await writer
      .updateTable('client_calls')
      .set({
        state: 'answered',
        result: JSON.stringify({ text, isUntrusted: given.isUntrusted }),
        is_error: given.isError ? 1 : 0,
      })
      .where('session_id', '=', key.sessionId)
      .where('call_id', '=', key.callId)
      .execute()
    return row.turn_id
  }

  async function askIn(writer: Writer, asked: AskedCall): Promise<StoredCall> {
    const state = { state: 'asked', result: null, isError: 0, askedAt: clock.now() } as const
    await writer
      .insertInto('client_calls')
      .values(snakeKeys({ ...asked, ...state, arguments: JSON.stringify(asked.arguments) }))
      .onConflict((conflict) =>
        conflict.columns(['session_id', 'call_id']).doUpdateSet({ expires_at: asked.expiresAt }),
      )
      .execute()
    return findIn(writer, asked)
  }

  return {
    /** After a restart the client is asked again with the full timeout, because it could not answer while Familiar was down. */
    ask: (call: AskedCall): Promise<StoredCall> => database.write((writer) => askIn(writer, call)),
    askIn,
    /** Its time is over, unless its result came in the meantime. */
    expire: (key: CallKey): Promise<StoredCall> =>
      database.write(async (writer) => {
        await writer
          .updateTable('client_calls')
          .set({ state: 'expired' })
          .where('session_id', '=', key.sessionId)
          .where('call_id', '=', key.callId)
          .where('state', '=', 'asked')
          .execute()
        return findIn(writer, key)
      }),
    find: (key: CallKey): Promise<StoredCall> => findIn(database.read, key),
    /** Of one turn, those without a result. */
    async waiting(turnId: string | null): Promise<ClientCall[]> {
      if (turnId === null) return []
      const rows = await database.read
        .selectFrom('client_calls')
        .select(['call_id', 'name', 'arguments', 'expires_at'])
        .where('turn_id', '=', turnId)
        .where('state', '=', 'asked')
        .orderBy('asked_at')
        .orderBy('call_id')
        .execute()
      return rows.map(({ call_id: id, name, arguments: text, expires_at }) => {
        const given = parseAnyJson(text)
        return { id, name, arguments: given.ok ? given.value : null, expiresAt: Number(expires_at) }
      })
    },
    answer: ({ userId, sessionId, results }: ClientAnswer): Promise<{ turnId: string }> =>
      database.write(async (writer) => {
        const turns = new Set<string>()
        for (const given of results) {
          turns.add(await answerOne(writer, userId, { sessionId, callId: given.callId }, given))
        }
        const [turnId, other] = turns
        if (turnId === undefined || other !== undefined) {
          throw new FamiliarError('bad_request', 'All results must belong to calls of the same turn')
        }
        return { turnId }
      }),
  }
}

async function findIn(reader: Reader | Writer, key: CallKey) {
  const row = await rowOf(reader, key)
  if (!row) throw new FamiliarError('internal', `The call ${key.callId} is not stored`)
  if (row.result === null) return { state: row.state, result: null }
  const result = parseJson(row.result, resultSchema)
  if (!result.ok) throw new FamiliarError('internal', `The result of call ${key.callId} is damaged: ${result.message}`)
  return { state: row.state, result: { ...result.value, isError: row.is_error === 1 } }
}

function rowOf(reader: Reader | Writer, { sessionId, callId }: CallKey): Promise<ClientCallRow | undefined> {
  return reader
    .selectFrom('client_calls')
    .selectAll()
    .where('session_id', '=', sessionId)
    .where('call_id', '=', callId)
    .executeTakeFirst()
}

/**
 * Refuses a client's tool that has the name of one of ours. An alias of ours is allowed: the page keeps its own memory with
 * `save_memory` (CLIENT-2).
 */
export function refuseOurNames(ours: ToolView, theirs: readonly ToolDefinition[]): void {
  const taken = theirs.find(({ name }) => isOurName(ours, name))
  if (taken)
    throw new FamiliarError('bad_request', `client_tools: the name ${taken.name} is already used by a tool of Familiar`)
}

function isOurName(ours: ToolView, name: string): boolean {
  return ours.find(name)?.definition.name === name
}

/** A call that is being waited for in this process. */
interface OpenCall {
  turnId: string
  call: ClientCall
  /** Settled when it is known whether it still waits. */
  asked: PromiseWithResolvers<void>
  isOpen: boolean
}

const anyCall = 'asked'

export type ClientCalls = ReturnType<typeof createClientCalls>

/**
 * Calls that clients make themselves (CLIENT-1). A call is written down before the client hears of it, waits for its
 * result across a restart, and is answered once: by the client, or by the clock.
 */
export function createClientCalls(dependencies: {
  database: Database
  clock: Clock
  timeoutSeconds: () => number
  /** Aborts with `CallSuspended` when the daemon begins to stop. */
  stopping: AbortSignal
  /** Done to every tool of a client, as to every other one. */
  prepareTool(tool: Tool): Tool
  wakeups: Wakeups
  /** With `tables`, calls of turns at other daemons wait as well. */
  stateIn: Coordination['stateIn']
}) {
  const { clock, timeoutSeconds, stopping, prepareTool, wakeups, stateIn } = dependencies
  const store = createClientCallStore(dependencies)
  const open = new Set<OpenCall>()

  function expiry(): number {
    return clock.now() + timeoutSeconds() * 1_000
  }

  async function run(name: string, input: Json, context: ToolContext): Promise<ToolOutcome> {
    const { userId, sessionId, turnId, callId, signal } = context
    const key = { sessionId, callId }
    const seconds = timeoutSeconds()
    const call = { id: callId, name, arguments: input, expiresAt: expiry() }
    // Announce every call before waiting for one, so that the client sees all of them at once.
    const entry: OpenCall = { turnId, call, asked: Promise.withResolvers(), isOpen: true }
    open.add(entry)
    // Listened for before it is asked: the client may have heard of the call where it was written down, and be quick.
    const settled = Promise.withResolvers<'answered' | 'late'>()
    const unfollow = wakeups.on(topicOf(key), () => settled.resolve('answered'))
    let cancel = () => {}
    try {
      const asked = await store.ask({ userId, turnId, name, arguments: input, ...key, expiresAt: call.expiresAt })
      entry.isOpen = asked.state === 'asked'
      entry.asked.resolve()
      if (asked.state !== 'asked') return outcomeOf(asked, seconds)
      wakeups.wake(anyCall)
      cancel = clock.after(Math.max(0, call.expiresAt - clock.now()), () => settled.resolve('late'))
      const end = await untilAborted(settled.promise, AbortSignal.any([stopping, signal]))
      return outcomeOf(end === 'late' ? await store.expire(key) : await store.find(key), seconds)
    } catch (cause) {
      // The turn was stopped, so a later result has no use.
      if (signal.aborted && !stopping.aborted) await store.expire(key)
      throw cause
    } finally {
      entry.isOpen = false
      entry.asked.resolve()
      open.delete(entry)
      unfollow()
      cancel()
    }
  }

  function toTool({ name, description, inputSchema }: ToolDefinition): Tool {
    return prepareTool({
      definition: { name, description, inputSchema },
      effect: 'idempotent',
      serial: false,
      core: true,
      aliases: [],
      isClients: true,
      // It may do anything, wherever the client runs (SEC-6).
      reach: () => ({ kind: 'reach', destination: `client:${name}` }),
      async beginIn(writer, { input, ...call }) {
        await store.askIn(writer, { ...call, name, arguments: input, expiresAt: expiry() })
      },
      run: (input, context) => run(name, input, context),
    })
  }

  async function openOf(turnOf: () => Promise<string | null>): Promise<ClientCall[]> {
    if (open.size === 0) return []
    const turnId = await turnOf()
    const entries = [...open].filter((entry) => entry.turnId === turnId)
    await Promise.all(entries.map(({ asked }) => asked.promise))
    return entries.filter(({ isOpen }) => isOpen).map(({ call }) => call)
  }

  return {
    /** The tools of the turn, followed by those of its client. A client tool never hides one of ours. */
    addTo(view: ToolView, tools: readonly ToolDefinition[]): ToolView {
      // The plan and the tool switch apply to client tools as well (CLIENT-4, TOOLS-3).
      const allowed = tools.filter(({ name }) => view.mayHave?.(name) ?? true)
      const theirs = new Map(allowed.map((tool) => [tool.name, toTool(tool)]))
      return {
        find: (name) => (isOurName(view, name) ? undefined : theirs.get(name)) ?? view.find(name),
        // Behind ours: what stays the same from turn to turn stays in front.
        list: () => [
          ...view.list(),
          ...[...theirs.values()].filter(({ definition }) => !isOurName(view, definition.name)),
        ],
      }
    },
    /** Resolves with the calls of the turn that wait, as soon as some do: all that were made together. */
    async waitForCalls(turnOf: () => Promise<string | null>, signal: AbortSignal): Promise<ClientCall[]> {
      for await (const _ of rounds(signal, (wake) => wakeups.on(anyCall, wake))) {
        const calls = stateIn === 'tables' ? await store.waiting(await turnOf()) : await openOf(turnOf)
        if (calls.length > 0) return calls
      }
      throw signal.reason
    },
    /**
     * All or nothing. `not_found` for a call of another session, `conflict` for one that has a result or has timed out.
     * Resolves with the turn that continues.
     */
    async answer(given: ClientAnswer): Promise<{ turnId: string }> {
      const answered = await store.answer(given)
      for (const { callId } of given.results) {
        for (const entry of open) {
          if (entry.call.id === callId && entry.turnId === answered.turnId) entry.isOpen = false
        }
        wakeups.wake(topicOf({ sessionId: given.sessionId, callId }))
      }
      return answered
    },
  }
}

function topicOf({ sessionId, callId }: CallKey): string {
  return `${sessionId}/${callId}`
}

/**
 * The client is the user's own program with their token; it could send the same text as a message. So its result is
 * trusted like the user unless the client marks it as untrusted. It never counts as an approval and is always private
 * (SEC-6).
 */
function outcomeOf({ result }: StoredCall, seconds: number): ToolOutcome {
  if (!result) {
    const text = `The client returned no result within ${seconds} seconds. It is unknown whether it did anything. Say so.`
    return { text, isError: true, timedOut: true }
  }
  const { text, isError, isUntrusted } = result
  return { text, isError, label: isUntrusted ? 'untrusted' : 'internal', isPrivate: true }
}
