import type { TurnEnd, TurnReply } from '../../agent/conversations.ts'
import type { ChatReply } from '../../protocol/api.ts'
import type { ClientCallsReply } from '../../protocol/client-tool-api.ts'
import type { Usage } from '../../protocol/message.ts'
import { errorReply } from './error-reply.ts'
import { isoTime } from './iso-time.ts'
import { jsonReply } from './json-reply.ts'

const failureCodes = { provider: 'provider_error', timeout: 'provider_timeout', internal: 'internal' } as const

/** What whoever waits for a turn is told: its end, or the calls that its client shall make first. */
export function chatReply(reply: TurnReply): Response {
  return reply.kind === 'ended' ? endReply(reply.end) : callsReply(reply)
}

function callsReply({ sessionId, turnId, calls }: Extract<TurnReply, { kind: 'asks' }>): Response {
  const reply: ClientCallsReply = {
    reply: '',
    session_id: sessionId,
    turn_id: turnId,
    tool_calls: calls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given })),
    expires_at: isoTime(Math.min(...calls.map(({ expiresAt }) => expiresAt))),
    meta: { has_tool_calls: true },
  }
  return jsonReply(reply)
}

/** A turn that the provider failed is an error of the gateway; every other end is an answer. */
function endReply(end: TurnEnd): Response {
  if (end.outcome === 'failed') {
    return errorReply(failureCodes[end.failure ?? 'internal'], end.text, {
      details: { session_id: end.sessionId, turn_id: end.turnId },
    })
  }
  const reply: ChatReply = {
    reply: end.text,
    session_id: end.sessionId,
    turn_id: end.turnId,
    outcome: end.outcome,
    pending_question: end.question,
    deliver: end.deliver,
    tool_calls: end.toolCalls.map(({ name, input, isError }) => ({ name, input, is_error: isError })),
    cards: end.cards,
    model: end.model,
    rounds: end.rounds,
    usage: usageReply(end.usage),
    cost_usd: end.costUsd,
    memories: end.recalled,
    meta: { has_tool_calls: false },
  }
  return jsonReply(reply)
}

export function usageReply(usage: Usage): ChatReply['usage'] {
  return {
    input_tokens: usage.inputTokens,
    output_tokens: usage.outputTokens,
    cache_read_tokens: usage.cacheReadTokens,
    cache_write_tokens: usage.cacheWriteTokens,
  }
}
