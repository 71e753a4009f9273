import type { Seen } from '../policy/gate.ts'
import type { TurnOutcome } from '../protocol/event.ts'
import type { ToolCallPart } from '../protocol/message.ts'
import type { InboxMessage } from '../sessions/inbox.ts'
import type { SessionEvent } from '../sessions/session-event.ts'
import { isSilentReply } from '../sessions/silent-reply.ts'
import type { TurnState } from '../sessions/turn-state.ts'
import type { ToolOutcome } from '../tools/tool.ts'
import type { MessageExpansion } from './expand-message.ts'
import { questionOf } from './next-step.ts'

export function received(message: InboxMessage, expansion?: MessageExpansion): SessionEvent {
  const { id, text, media, sender, source, tier, metadata, label } = message
  return {
    type: 'message_received',
    messageId: id,
    text,
    ...(expansion && expansion.text !== text && { expanded: expansion.text }),
    media: [...media, ...(expansion?.media ?? [])],
    sender,
    source,
    tier,
    metadata,
    ...(label && { label }),
  }
}

export function notified(notice: { about: 'rounds' | 'failures'; text: string }): SessionEvent {
  return { type: 'model_notified', ...notice }
}

export function toolFinished(
  call: ToolCallPart,
  { serviceFailed: _, timedOut: __, ran: ___, ...outcome }: ToolOutcome,
): SessionEvent {
  return { type: 'tool_finished', callId: call.id, name: call.name, ...outcome }
}

export type TurnEnded = Extract<SessionEvent, { type: 'turn_ended' }>

export interface Ending {
  outcome: TurnOutcome
  text: string
  failure?: 'provider' | 'timeout' | 'internal'
}

export function turnEnded(turn: TurnState, { outcome, text, failure }: Ending, seen: Seen): TurnEnded {
  const question = outcome === 'question' ? questionOf(turn) : null
  return {
    type: 'turn_ended',
    outcome,
    text,
    question,
    toolCalls: turn.toolCalls,
    // A question is shown, whatever the model says beside it.
    deliver: turn.source !== 'system' && (question !== null || !isSilentReply(text)),
    ...(failure && { failure }),
    ...(seen.untrusted && { label: 'untrusted' }),
  }
}
