import type { Json } from '../../protocol/json.ts'
import type { AssistantPart, StopReason, Usage } from '../../protocol/message.ts'
import type { ModelResponse, ModelStreamEvent } from '../model.ts'
import type { ToolCallIds } from '../tool-call-ids.ts'
import { readToolInput } from '../tool-input.ts'
import type { ChatChunk } from './chat-chunk.ts'
import { type CollectedCall, createToolCallCollector } from './chat-tool-calls.ts'

/** Collects the chunks of one answer into a response. */
export interface ChatAnswer {
  /** The deltas that a chunk makes. */
  add(chunk: ChatChunk): ModelStreamEvent[]
  /** Undefined where the answer is not whole: it gave no reason to stop, or a call has no name. */
  response(): ModelResponse | undefined
}

export function createChatAnswer(options: {
  providerName: string
  ids: ToolCallIds
  settleInput(toolName: string, input: Json): Json
}): ChatAnswer {
  const { providerName, ids, settleInput } = options
  const parts: AssistantPart[] = []
  const calls = createToolCallCollector()
  let finishReason: string | undefined
  let refused = false
  let usage: ChatChunk['usage']

  function append(type: 'text' | 'thinking', text: string): void {
    const last = parts.at(-1)
    if (last?.type === type) last.text += text
    else if (type === 'text') parts.push({ type, text })
    // Thinking must say whose it is: nobody else is ever sent it.
    else parts.push({ type, text, replay: { provider: providerName, metadata: {} } })
  }

  function toPart({ id, name, input, signature }: CollectedCall): AssistantPart {
    return {
      type: 'tool_call',
      id: ids.take(id),
      name,
      input: settleInput(name, readToolInput(input)),
      ...(signature && { replay: { provider: providerName, metadata: { thoughtSignature: signature } } }),
    }
  }

  return {
    add(chunk) {
      finishReason = chunk.finishReason ?? finishReason
      usage = chunk.usage ?? usage
      refused ||= chunk.refused
      for (const piece of chunk.calls) calls.add(piece)
      return chunk.said.map(({ type, text }) => {
        append(type, text)
        return { type: `${type}_delta`, text }
      })
    },
    response() {
      const collected = calls.collected()
      if (finishReason === undefined || collected.some(({ name }) => name === '')) return undefined
      const stopReason = toStopReason(finishReason, refused)
      return { parts: [...parts, ...collected.map(toPart)], stopReason, usage: toUsage(usage) }
    },
  }
}

function toStopReason(reason: string, refused: boolean): StopReason {
  switch (reason) {
    case 'stop':
      // OpenAI says it also where it refused. Calls beside it are stray (LOOP-3).
      return refused ? 'refusal' : 'end'
    case 'tool_calls':
    case 'function_call':
      return 'tool_use'
    case 'length':
      return 'max_tokens'
    case 'content_filter':
      return 'refusal'
    default:
      return 'other'
  }
}

function toUsage(usage: ChatChunk['usage']): Usage {
  const details = usage?.prompt_tokens_details
  const { cached_tokens, cache_write_tokens } =
    typeof details === 'object' && details !== null && !Array.isArray(details) ? details : {}
  return {
    inputTokens: count(usage?.prompt_tokens),
    outputTokens: count(usage?.completion_tokens),
    cacheReadTokens: count(cached_tokens),
    // OpenRouter's.
    cacheWriteTokens: count(cache_write_tokens),
  }
}

function count(value: Json | undefined): number {
  return typeof value === 'number' ? Math.max(0, Math.round(value)) : 0
}
