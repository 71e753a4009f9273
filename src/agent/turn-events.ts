import type { TurnOutcome } from '../protocol/event.ts'
import type { ToolCallPart } from '../protocol/message.ts'
import type { InboxMessage } from '../sessions/inbox.ts'
import type { TurnState } from '../sessions/projection.ts'
import type { SessionEvent } from '../sessions/session-event.ts'
import { isSilentReply } from '../sessions/silent-reply.ts'
import type { ToolOutcome } from '../tools/tool.ts'

export function received(message: InboxMessage): SessionEvent {
  const { id, text, media, sender, source, tier, metadata } = message
  return { type: 'message_received', messageId: id, text, media, sender, source, tier, metadata }
}

export function notified(notice: { about: 'rounds' | 'failures'; text: string }): SessionEvent {
  return { type: 'model_notified', ...notice }
}

export function toolFinished(call: ToolCallPart, { serviceFailed: _, ...outcome }: ToolOutcome): SessionEvent {
  return { type: 'tool_finished', callId: call.id, name: call.name, ...outcome }
}

export type TurnEnded = Extract<SessionEvent, { type: 'turn_ended' }>

export interface Ending {
  outcome: TurnOutcome
  text: string
  failure?: 'provider' | 'timeout' | 'internal'
}

export function turnEnded(turn: TurnState, { outcome, text, failure }: Ending): TurnEnded {
  return {
    type: 'turn_ended',
    outcome,
    text,
    question: outcome === 'question' ? turn.question : null,
    toolCalls: turn.toolCalls,
    deliver: turn.source !== 'system' && !isSilentReply(text),
    ...(failure && { failure }),
  }
}
