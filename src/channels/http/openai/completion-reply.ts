import type { Usage } from '../../../protocol/message.ts'
import type { ChatCompletionReply, OpenAiExtras } from '../../../protocol/openai-api.ts'
import type { BegunTurn } from './begun-turn.ts'
import { toClientCallId } from './call-id.ts'
import type { TurnOver } from './watch-reply.ts'

type Choice = ChatCompletionReply['choices'][number]
export type CompletionCall = NonNullable<Choice['message']['tool_calls']>[number]

/** What is the same in every piece of one answer. */
export interface CompletionHead {
  id: string
  created: number
  model: string
}

export function completionReply(head: CompletionHead, begun: BegunTurn, over: TurnOver): ChatCompletionReply {
  const isEnd = over.type === 'ended'
  return {
    ...head,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: isEnd ? over.text : null,
          refusal: null,
          ...(!isEnd && { tool_calls: completionCalls(begun, over) }),
        },
        logprobs: null,
        finish_reason: finishReason(over),
      },
    ],
    usage: completionUsage(over),
    familiar: extrasOf(begun, over),
  }
}

export function finishReason(over: TurnOver): Choice['finish_reason'] {
  return over.type === 'ended' ? 'stop' : 'tool_calls'
}

export function completionCalls({ sessionId }: BegunTurn, over: Extract<TurnOver, { type: 'asks' }>): CompletionCall[] {
  return over.calls.map(({ id, name, arguments: given }) => ({
    id: toClientCallId(sessionId, id),
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  }))
}

export function completionUsage(over: TurnOver): ChatCompletionReply['usage'] {
  const { inputTokens, outputTokens, cacheReadTokens } = usageOf(over)
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cacheReadTokens },
  }
}

/** Of the whole turn. While it waits for its client nothing is told: the end tells it all, and once. */
export function usageOf(over: TurnOver): Usage {
  if (over.type === 'ended') return over.end.usage
  return { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 }
}

export function extrasOf({ sessionId }: BegunTurn, over: TurnOver): OpenAiExtras {
  if (over.type === 'asks') return { session_id: sessionId, turn_id: over.turnId, cost_usd: 0 }
  return { session_id: over.end.sessionId, turn_id: over.end.turnId, cost_usd: over.end.costUsd }
}
