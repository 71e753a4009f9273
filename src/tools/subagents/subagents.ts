import type { Seen } from '../../policy/gate.ts'
import type { TurnOutcome } from '../../protocol/event.ts'
import type { Json } from '../../protocol/json.ts'
import type { SpawnRow } from '../../storage/workspace-tables.ts'

export interface SpawnRequest {
  task: string
  /** By name; null for all of the parent's that a sub-agent may have. */
  tools: string[] | null
  /** `provider/name`; null for the route of sub-agents. */
  model: string | null
  /** What the parent had in sight when it gave the task: the sub-agent begins with it (SEC-17). */
  seen: Seen
}

export interface SpawnResult {
  outcome: TurnOutcome
  text: string
  /** What the sub-agent had in sight at its end: whoever reads the text inherits it (SEC-17). */
  seen: Seen
}

/** A piece of work that a conversation has given away. */
export interface Spawn {
  id: string
  userId: string
  parentSessionId: string
  /** Its cost counts to this turn. */
  parentTurnId: string
  request: SpawnRequest
  state: SpawnRow['state']
  /** Null until its session has ended. */
  result: SpawnResult | null
  /** Its own session; null where it has not begun. */
  sessionId: string | null
  createdAt: number
  endedAt: number | null
}

/**
 * Sub-agents: sessions of the one loop that work for another one (SUB-1). Every spawn ends, after a crash too, and what it
 * has come to is written before anybody is told.
 */
export interface Subagents {
  /**
   * The same call of the same conversation is the same spawn. `bad_request` for tools or a model that are not to be had,
   * `conflict` where too many work already, `forbidden` for a sub-agent.
   */
  spawn(wanted: {
    userId: string
    sessionId: string
    turnId: string
    callId: string
    request: SpawnRequest
  }): Promise<Spawn>
  /** Resolves when it has ended. Aborting the wait does not stop it; throws CallSuspended where the daemon stops. */
  ended(spawn: Spawn, wait: { signal: AbortSignal; progress(data: Json): void }): Promise<Spawn>
  /** All that the conversation has spawned, oldest first. */
  list(userId: string, sessionId: string): Promise<Spawn[]>
}
