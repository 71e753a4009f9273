import type {
  OpenAiResponseReply,
  OpenAiResponseRequest,
  ResponseOutputItem,
} from '../../../protocol/openai-responses-api.ts'
import type { BegunTurn } from './begun-turn.ts'
import { toClientCallId } from './call-id.ts'
import { extrasOf, usageOf } from './completion-reply.ts'
import { toResponseId } from './response-id.ts'
import type { TurnOver } from './watch-reply.ts'

/** An answer that has not come yet: everything in it but what is said. */
export function emptyResponse(begun: BegunTurn, body: OpenAiResponseRequest, createdAt: number): OpenAiResponseReply {
  return {
    id: toResponseId(begun),
    object: 'response',
    created_at: createdAt,
    status: 'in_progress',
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    metadata: {},
    model: body.model,
    output: [],
    parallel_tool_calls: true,
    previous_response_id: body.previous_response_id ?? null,
    temperature: null,
    top_p: null,
    tool_choice: 'auto',
    tools: [],
    usage: null,
    familiar: { session_id: begun.sessionId, turn_id: '', cost_usd: null },
  }
}

export function wholeResponse(
  empty: OpenAiResponseReply,
  { begun, over, output }: { begun: BegunTurn; over: TurnOver; output: ResponseOutputItem[] },
): OpenAiResponseReply {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens } = usageOf(over)
  return {
    ...empty,
    status: 'completed',
    output,
    usage: {
      input_tokens: inputTokens,
      input_tokens_details: { cached_tokens: cacheReadTokens, cache_write_tokens: cacheWriteTokens },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: inputTokens + outputTokens,
    },
    familiar: extrasOf(begun, over),
  }
}

export function messageItem(responseId: string, text: string): Extract<ResponseOutputItem, { type: 'message' }> {
  return {
    type: 'message',
    id: responseId.replace('resp_', 'msg_'),
    role: 'assistant',
    status: 'completed',
    content: [textPart(text)],
  }
}

export function textPart(text: string) {
  return { type: 'output_text' as const, text, annotations: [], logprobs: [] }
}

export function callItems(
  { sessionId }: BegunTurn,
  { calls }: Extract<TurnOver, { type: 'asks' }>,
): Extract<ResponseOutputItem, { type: 'function_call' }>[] {
  return calls.map(({ id, name, arguments: given }) => ({
    type: 'function_call',
    id: `fc_${id}`,
    call_id: toClientCallId(sessionId, id),
    name,
    arguments: JSON.stringify(given),
    status: 'completed',
  }))
}
