import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { TurnOutcome } from '../../protocol/events.ts'
import type { Json } from '../../protocol/messages.ts'
import type { Seen } from '../../security/permissions.ts'
import type { SpawnRow } from '../../storage/feature-tables.ts'
import { type AskedApproval, defineTool, failed, succeeded, type Tool, type ToolOutcome } from '../tool.ts'

const maxAtOnce = 20
const maxTaskCharacters = 20_000

export function createSubagentTools({ subagents, clock }: { subagents: Subagents; clock: Clock }): Tool[] {
  return [
    // Delegates a task. A call repeated after a restart finds its sub-agent.
    defineTool({
      name: 'sessions_spawn',
      description:
        'Give a task to a sub-agent with its own context, and get its answer. It knows nothing of this conversation: state everything it needs. Several calls run in parallel.',
      input: z.object({
        task: z.string().trim().min(1).max(maxTaskCharacters).describe('The task, and what the answer must contain.'),
        tools: z.array(z.string()).max(50).optional().describe('Its tools, by name. Default: yours.'),
        model: z.string().optional().describe('provider/name. Default: the configured one.'),
        wait: z
          .boolean()
          .default(true)
          .describe('false: return at once; sessions_wait and sessions_collect get the answer.'),
      }),
      effect: 'idempotent',
      async run({ task, tools = null, model = null, wait }, context) {
        const { userId, sessionId, turnId, callId, seen } = context
        const request = { task, tools, model, seen }
        const spawn = await subagents.spawn({ userId, sessionId, turnId, callId, request })
        if (wait) return outcomeOfSpawns([await subagents.ended(spawn, context)])
        const told = `Sub-agent ${spawn.id} is working on it. sessions_wait waits for its answer.`
        return { ...succeeded(told), foundTools: ['sessions_wait', 'sessions_collect'] }
      },
    }),
    // Waits for sub-agents that were started without waiting; unfinished ones continue.
    defineTool({
      name: 'sessions_wait',
      description: 'Wait until your sub-agents have finished, and get their answers.',
      input: z.object({
        ids: z.array(z.string()).max(50).optional().describe('Default: those of this turn, and all running ones.'),
        timeout_seconds: z.number().positive().max(3_600).default(600),
      }),
      effect: 'idempotent',
      async run({ ids, timeout_seconds: seconds }, context) {
        const known = await subagents.list(context.userId, context.sessionId)
        // Includes finished ones of this turn, so that a call repeated after a restart returns the same.
        const chosen = chooseSpawns(
          known,
          ids,
          ({ result, parentTurnId }) => result === null || parentTurnId === context.turnId,
        )
        if (chosen.length === 0) return failed('No sub-agent is running. sessions_collect gets the answers.')
        const late = new AbortController()
        const cancel = clock.after(seconds * 1_000, () => late.abort())
        try {
          const wait = { signal: AbortSignal.any([late.signal, context.signal]), progress: context.progress }
          const ended = chosen.map((spawn) =>
            subagents.ended(spawn, wait).catch((cause: unknown) => {
              if (!late.signal.aborted || context.signal.aborted) throw cause
              return spawn
            }),
          )
          return outcomeOfSpawns(await Promise.all(ended))
        } finally {
          cancel()
        }
      },
    }),
    defineTool({
      name: 'sessions_collect',
      description: 'Get the answers of your sub-agents, without waiting for running ones.',
      input: z.object({ ids: z.array(z.string()).max(50).optional().describe('Default: all of this conversation.') }),
      effect: 'idempotent',
      async run({ ids }, { userId, sessionId }) {
        const chosen = chooseSpawns(await subagents.list(userId, sessionId), ids, () => true)
        if (chosen.length === 0) return failed('There are no sub-agents in this conversation.')
        return { ...outcomeOfSpawns(chosen), isError: false }
      },
    }),
  ]
}

/** The named ones, in that order, each once; without names the newest that match `isMeant`. */
function chooseSpawns(
  known: readonly Spawn[],
  ids: readonly string[] | undefined,
  isMeant: (spawn: Spawn) => boolean,
): Spawn[] {
  if (!ids) return known.filter(isMeant).slice(-maxAtOnce)
  return [...new Set(ids)].map((id) => {
    const spawn = known.find((one) => one.id === id)
    if (!spawn) throw new FamiliarError('not_found', `There is no sub-agent ${id} in this conversation`)
    return spawn
  })
}

/** Tools that no sub-agent has: it cannot start sub-agents, contact the user or schedule anything. */
export const deniedTools: ReadonlySet<string> = new Set(['sessions_spawn', 'tts', 'react', 'schedule_message'])

/** The report about sub-agents. Labels follow what they had in view, not what they say (SEC-17). */
function outcomeOfSpawns(spawns: readonly Spawn[]): ToolOutcome {
  const results = spawns.flatMap(({ result }) => (result ? [result] : []))
  const asks = spawns.flatMap((spawn) => spawn.asks ?? [])
  return {
    text:
      spawns.length === 1
        ? spawns.map(tellOne).join('')
        : spawns.map((spawn) => `Sub-agent ${spawn.id}: ${tellOne(spawn)}`).join('\n\n'),
    isError: spawns.length > 0 && spawns.every(({ state }) => state === 'failed' || state === 'stopped'),
    ...(asks.length > 0 && { asks }),
    ...(results.some(({ seen }) => seen.untrusted) && { label: 'untrusted' }),
    ...(results.some(({ seen }) => seen.private) && { isPrivate: true }),
  }
}

function tellOne({ state, result, asks = [] }: Spawn): string {
  if (result) return tellResult(result)
  if (asks.length > 0)
    return "It waits for the user's approval, which has been requested. It continues by itself after the answer."
  return state === 'stopped' ? 'It was stopped.' : 'It is still working.'
}

export function tellResult({ outcome, text }: SpawnResult): string {
  switch (outcome) {
    case 'completed':
      return text
    case 'question':
      return `It could not continue without an answer: ${text}`
    default:
      return `It did not finish (${outcome}): ${text}`
  }
}

export interface SpawnRequest {
  task: string
  /** By name; null for all of the parent's tools that a sub-agent may have. */
  tools: string[] | null
  /** `provider/name`; null for the sub-agent route. */
  model: string | null
  /** The content in view of the parent when it delegated the task: the sub-agent starts with it (SEC-17). */
  seen: Seen
}

export interface SpawnResult {
  outcome: TurnOutcome
  text: string
  /** The content in view of the sub-agent at its end: readers of the text inherit it (SEC-17). */
  seen: Seen
}

export interface Spawn {
  id: string
  userId: string
  parentSessionId: string
  /** Its cost counts toward this turn. */
  parentTurnId: string
  request: SpawnRequest
  state: SpawnRow['state']
  result: SpawnResult | null
  /** The approvals that it waits for, where that was looked up. */
  asks?: readonly AskedApproval[]
  /** Its own session; null if it has not started. */
  sessionId: string | null
  createdAt: number
  endedAt: number | null
}

/** Sub-agents (SUB-1). Each one ends, also after a crash, and its result is written before it is reported. */
export interface Subagents {
  /**
   * The same call of the same conversation is the same sub-agent. Throws `bad_request` for unavailable tools or models,
   * `conflict` if too many are running, `forbidden` for a sub-agent.
   */
  spawn(wanted: {
    userId: string
    sessionId: string
    turnId: string
    callId: string
    request: SpawnRequest
  }): Promise<Spawn>
  /** Resolves when it has ended, or waits for approvals: then with `asks`. Aborting the wait does not stop it; throws CallSuspended if the daemon stops. */
  ended(spawn: Spawn, wait: { signal: AbortSignal; progress(data: Json): void }): Promise<Spawn>
  list(userId: string, sessionId: string): Promise<Spawn[]>
}
