import type { z } from 'zod'
import type { chatReplySchema, turnOutcomeReplySchema } from './api.ts'
import type { OpenChoices } from './choices.ts'
import type { Card, Json, MediaPart, Usage } from './messages.ts'
import type { ApprovalOutcome, ShownApproval } from './permissions.ts'

export type TurnOutcome = z.infer<typeof turnOutcomeReplySchema>

export interface AnsweredApproval extends ApprovalOutcome {
  at: string
}

/**
 * An event of a session. `tool_start`, `tool_progress`, `tool_result` and `response` have the names and fields that
 * existing clients expect.
 */
export type TurnEvent =
  /** `media`: the attachments, if any. */
  | {
      type: 'message'
      messageId: string
      text: string
      sender: string
      source: string
      media?: MediaPart[]
      /** The answer that was given with a button, elsewhere or here. The text is for the model. */
      approval?: AnsweredApproval
    }
  /** `answers`: the question with options that its messages answer, and the options that they choose. */
  | {
      type: 'turn_start'
      turnId: string
      model: string
      answers?: { id: string; chosen: string[] }
      /** The approvals that its message answered in words. */
      approvals?: AnsweredApproval[]
    }
  | { type: 'memory_recalled'; turnId: string; memories: { id: string; text: string }[] }
  | { type: 'text_delta'; turnId: string; text: string }
  | { type: 'thinking_delta'; turnId: string; text: string }
  /** The response so far is void. `isQuiet`: nothing failed, so clients show nothing. */
  | { type: 'retry'; turnId: string; attempt: number; reason: string; waitMs: number; isQuiet?: true }
  | { type: 'tool_start'; turnId: string; callId: string; name: string; input: Json }
  /** The client must make these calls and post their results. */
  | {
      type: 'tool_calls'
      turnId: string
      toolCalls: { id: string; name: string; arguments: Json }[]
      meta: { has_tool_calls: true }
    }
  | { type: 'tool_progress'; turnId: string; callId: string; name: string; data: Json }
  | { type: 'tool_result'; turnId: string; callId: string; name: string; result: string; isError: boolean }
  | { type: 'card'; turnId: string; callId: string; name: string; card: Card }
  /** `removed`: paths of files of this turn that are gone. */
  | { type: 'media'; turnId: string; callId: string; name: string; media: MediaPart[]; removed?: string[] }
  /** A text for the user while the turn continues. */
  | { type: 'said'; turnId: string; text: string }
  | { type: 'reaction'; turnId: string; emoji: string }
  | {
      type: 'approval_request'
      turnId: string
      callId: string
      approvalId: string
      question: string
      /** The question in its parts. Absent for one of an earlier version. */
      approval?: ShownApproval
    }
  | { type: 'cost'; turnId: string; model: string; usage: Usage; costUsd: number | null }
  | {
      type: 'response'
      turnId: string
      text: string
      buildId: string | null
      pendingQuestion: string | null
      /** The answers that the question offers, if any. */
      pendingChoices?: OpenChoices
      /** The numbered answers to the question, for clients without buttons. They are not in `text`. */
      answerList?: string
      toolCalls: z.infer<typeof chatReplySchema>['toolCalls']
      /** False if the text is a silent token, which is stored and not shown. */
      deliver: boolean
    }
  | { type: 'turn_end'; turnId: string; outcome: TurnOutcome }
  | { type: 'context_warning'; inputTokens: number; thresholdTokens: number }
  | { type: 'compaction'; beforeTokens: number; messages: number }
  /**
   * `detail`: with `canceled`, the id of the queued message; with `rewound`, the last event that still counts; with
   * `branched`, the event that the conversation now continues after, perhaps on another branch.
   */
  | {
      type: 'session_changed'
      change: 'marked' | 'rewound' | 'branched' | 'forked' | 'reset' | 'canceled'
      detail: string
    }

/** An event with its cursor in the session's stream, which is the value of `Last-Event-ID`. */
export interface StreamedEvent {
  cursor: string
  event: TurnEvent
}
