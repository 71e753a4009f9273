import type { Card, Json, MediaPart, Usage } from './messages.ts'

export type TurnOutcome =
  | 'completed'
  | 'question'
  | 'stopped'
  | 'round_limit'
  | 'repeated_failure'
  | 'budget'
  | 'failed'

export interface ToolCallSummary {
  name: string
  input: Json
  isError: boolean
}

/**
 * What a client that watches a session is told. `tool_start`, `tool_progress`, `tool_result` and `response` keep the
 * names and fields that existing clients know.
 */
export type TurnEvent =
  /** `media`: what was sent along; absent where nothing was. */
  | { type: 'message'; messageId: string; text: string; sender: string; source: string; media?: MediaPart[] }
  | { type: 'turn_start'; turnId: string; model: string }
  | { type: 'memory_recalled'; turnId: string; memories: { id: string; text: string }[] }
  | { type: 'text_delta'; turnId: string; text: string }
  | { type: 'thinking_delta'; turnId: string; text: string }
  /** What was told of the response is void. `isQuiet`: nothing failed, so there is nothing to say. */
  | { type: 'retry'; turnId: string; attempt: number; reason: string; waitMs: number; isQuiet?: true }
  | { type: 'tool_start'; turnId: string; callId: string; name: string; input: Json }
  /** The client shall make this call, and post its result. */
  | {
      type: 'tool_calls'
      turnId: string
      toolCalls: { id: string; name: string; arguments: Json }[]
      meta: { has_tool_calls: true }
    }
  | { type: 'tool_progress'; turnId: string; callId: string; name: string; data: Json }
  | { type: 'tool_result'; turnId: string; callId: string; name: string; result: string; isError: boolean }
  | { type: 'card'; turnId: string; callId: string; name: string; card: Card }
  | { type: 'media'; turnId: string; callId: string; name: string; media: MediaPart[] }
  /** Said to the user while the turn goes on. */
  | { type: 'said'; turnId: string; text: string }
  | { type: 'reaction'; turnId: string; emoji: string }
  | { type: 'approval_request'; turnId: string; callId: string; approvalId: string; question: string }
  | { type: 'cost'; turnId: string; model: string; usage: Usage; costUsd: number | null }
  | {
      type: 'response'
      turnId: string
      text: string
      buildId: string | null
      pendingQuestion: string | null
      toolCalls: ToolCallSummary[]
      /** False where the text is a silent token: stored, not shown. */
      deliver: boolean
    }
  | { type: 'turn_end'; turnId: string; outcome: TurnOutcome }
  | { type: 'context_warning'; inputTokens: number; thresholdTokens: number }
  | { type: 'compaction'; beforeTokens: number; messages: number }
  /** With `canceled`, `detail` is the id of the message that waited. */
  | { type: 'session_changed'; change: 'marked' | 'rewound' | 'forked' | 'reset' | 'canceled'; detail: string }

/** An event with its place in the session's stream, the value of `Last-Event-ID`. */
export interface StreamedEvent {
  cursor: string
  event: TurnEvent
}
