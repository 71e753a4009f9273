import type { Json } from '../../protocol/json.ts'
import type { ToolDefinition } from '../../protocol/tool.ts'
import type { ToolView } from '../../tools/registry.ts'

/** A call that the client shall make. */
export interface ClientCall {
  id: string
  name: string
  arguments: Json
  /** Later results are refused. */
  expiresAt: number
}

export interface ClientResult {
  callId: string
  result: Json
  isError: boolean
  isUntrusted: boolean
}

/**
 * Calls that clients make themselves (CLIENT-1). A call is written down before the client hears of it, waits for its
 * result across a restart, and is answered once: by the client, or by the clock.
 */
export interface ClientCalls {
  /** What the turn has, and behind it what its client can do: no name of ours is ever hidden by one of theirs. */
  addTo(view: ToolView, tools: readonly ToolDefinition[]): ToolView
  /** Resolves with the calls of the turn that wait, as soon as some do: all that were made together. */
  waitForCalls(turnOf: () => Promise<string | null>, signal: AbortSignal): Promise<ClientCall[]>
  /**
   * All or nothing. `not_found` for a call that is not of the session, `conflict` for one that has its result or whose
   * time is over. Resolves with the turn that goes on.
   */
  answer(answer: { userId: string; sessionId: string; results: readonly ClientResult[] }): Promise<{ turnId: string }>
}
