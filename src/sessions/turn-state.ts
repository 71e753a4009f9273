import type { Card } from '../protocol/card.ts'
import type { StopReason, ToolCallPart, Usage } from '../protocol/message.ts'
import type { ToolDefinition, ToolEffect } from '../protocol/tool.ts'
import type { LoggedEvent } from './session-event.ts'

/** Where a turn stands, from its events alone. */
export interface TurnState {
  id: string
  /** The event before the turn's first message. */
  beforeSeq: number
  source: string
  tier: string
  model: string
  messageIds: string[]
  /** The question that the turn before ended with: this one's messages are the answer. */
  answers: string | null
  recalled: { id: string; text: string }[]
  /** What the client of this turn can do itself. */
  clientTools?: readonly ToolDefinition[]
  /** How many responses the model has given in this turn. */
  rounds: number
  /** The calls of the newest response, in its order. */
  calls: ToolCallPart[]
  started: Record<string, ToolEffect>
  stopReason: StopReason | null
  text: string
  question: string | null
  /** Calls that wait for the user's word, and what the user is asked for each. */
  approvals: { id: string; question: string }[]
  /** How often a call failed with the same arguments and the same words. */
  failures: Record<string, number>
  notified: string[]
  stopRequested: boolean
  toolCalls: { name: string; input: ToolCallPart['input']; isError: boolean }[]
  cards: Card[]
  usage: Usage
  /** Null as soon as one call of the turn had no price. */
  costNanousd: number | null
}

export function startTurn(event: Extract<LoggedEvent, { type: 'turn_started' }>, answers: string | null): TurnState {
  return {
    id: event.turnId ?? '',
    beforeSeq: event.seq - event.messageIds.length - 1,
    source: event.source,
    tier: event.tier,
    model: event.model,
    messageIds: event.messageIds,
    answers,
    recalled: event.recalled,
    ...(event.clientTools && { clientTools: event.clientTools }),
    rounds: 0,
    calls: [],
    started: {},
    stopReason: null,
    text: '',
    question: null,
    approvals: [],
    failures: {},
    notified: [],
    stopRequested: false,
    toolCalls: [],
    cards: [],
    usage: { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
    costNanousd: 0,
  }
}
