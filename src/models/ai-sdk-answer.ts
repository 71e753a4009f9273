import type {
  LanguageModelV4FinishReason,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
} from '@ai-sdk/provider'
import type { Json } from '../protocol/json.ts'
import type { AssistantPart, StopReason, TextPart, ThinkingPart, Usage } from '../protocol/message.ts'
import type { ModelResponse, ModelStreamEvent } from './model.ts'
import type { ToolCallIds } from './tool-call-ids.ts'
import { readToolInput } from './tool-input.ts'

type FinishPart = Extract<LanguageModelV4StreamPart, { type: 'finish' }>

/** Collects a stream's parts into one response. `add` returns the event that a part makes, where it makes one. */
export interface Answer {
  add(part: LanguageModelV4StreamPart): ModelStreamEvent | undefined
  finish: FinishPart | undefined
  response(finish: FinishPart): ModelResponse
}

export function createAnswer(options: {
  providerName: string
  optionsKey: string
  ids: ToolCallIds
  /** The last change to a call's arguments, such as taking out what strict schemas put in. */
  settleInput(toolName: string, input: Json): Json
}): Answer {
  const { providerName, optionsKey, ids, settleInput } = options
  const parts: AssistantPart[] = []
  // SDKs use an id again for a later block of the same kind, so a block is open only between its start and its end.
  const open = new Map<string, TextPart | ThinkingPart>()

  function remember(part: AssistantPart, metadata: SharedV4ProviderMetadata | undefined): void {
    const own = metadata?.[optionsKey]
    if (!own) return
    const known = Object.entries(own).filter(([, value]) => value !== undefined && value !== null) as [string, Json][]
    if (known.length === 0) return
    part.replay = { provider: providerName, metadata: { ...part.replay?.metadata, ...Object.fromEntries(known) } }
  }

  function blockOf(type: 'text' | 'thinking', id: string): TextPart | ThinkingPart {
    const known = open.get(`${type} ${id}`)
    if (known) return known
    const block: TextPart | ThinkingPart = { type, text: '' }
    // Even without metadata, thinking must say whose it is: nobody else is ever sent it.
    if (type === 'thinking') block.replay = { provider: providerName, metadata: {} }
    parts.push(block)
    open.set(`${type} ${id}`, block)
    return block
  }

  const answer: Answer = {
    finish: undefined,
    add(part) {
      switch (part.type) {
        case 'text-start':
        case 'reasoning-start':
          remember(blockOf(kindOf(part.type), part.id), part.providerMetadata)
          return undefined
        case 'text-delta':
        case 'reasoning-delta': {
          const kind = kindOf(part.type)
          const block = blockOf(kind, part.id)
          remember(block, part.providerMetadata)
          block.text += part.delta
          if (part.delta === '') return undefined
          return { type: kind === 'text' ? 'text_delta' : 'thinking_delta', text: part.delta }
        }
        case 'text-end':
        case 'reasoning-end': {
          const kind = kindOf(part.type)
          remember(blockOf(kind, part.id), part.providerMetadata)
          open.delete(`${kind} ${part.id}`)
          return undefined
        }
        case 'tool-call': {
          if (part.providerExecuted) return undefined
          const input = settleInput(part.toolName, readToolInput(part.input))
          const call: AssistantPart = { type: 'tool_call', id: ids.take(part.toolCallId), name: part.toolName, input }
          remember(call, part.providerMetadata)
          parts.push(call)
          return undefined
        }
        case 'finish':
          answer.finish = part
          return undefined
        default:
          return undefined
      }
    },
    response({ finishReason, usage }) {
      return {
        parts: parts.filter((part) => part.type === 'tool_call' || part.text !== '' || carriesSignature(part)),
        stopReason: toStopReason(finishReason),
        usage: toUsage(usage),
      }
    },
  }
  return answer
}

function kindOf(type: `${'text' | 'reasoning'}-${string}`): 'text' | 'thinking' {
  return type.startsWith('text') ? 'text' : 'thinking'
}

/** Empty on purpose: redacted or encrypted thinking, or a signature that stands by itself. */
function carriesSignature({ type, replay }: AssistantPart): boolean {
  const names = Object.keys(replay?.metadata ?? {})
  return type === 'thinking' ? names.length > 0 : names.includes('thoughtSignature')
}

function toStopReason({ unified }: LanguageModelV4FinishReason): StopReason {
  switch (unified) {
    case 'stop':
      return 'end'
    case 'tool-calls':
      return 'tool_use'
    case 'length':
      return 'max_tokens'
    case 'content-filter':
      return 'refusal'
    default:
      return 'other'
  }
}

function toUsage({ inputTokens, outputTokens }: LanguageModelV4Usage): Usage {
  return {
    inputTokens: count(inputTokens.total),
    outputTokens: count(outputTokens.total),
    cacheReadTokens: count(inputTokens.cacheRead),
    cacheWriteTokens: count(inputTokens.cacheWrite),
  }
}

function count(value: number | undefined): number {
  return value !== undefined && Number.isFinite(value) ? Math.max(0, Math.round(value)) : 0
}
