import { type Clock, sleep } from '../../src/base/clock.ts'
import {
  type LanguageModel,
  ModelError,
  type ModelInfo,
  type ModelRequest,
  type ModelStreamEvent,
} from '../../src/models/model.ts'
import type { AssistantPart, Json, StopReason, Usage } from '../../src/protocol/messages.ts'

/** The reply of a scripted model to one call. */
export interface ScriptedReply {
  text?: string
  thinking?: string
  toolCalls?: { id?: string; name: string; input?: Json }[]
  /** Default: `tool_use` with tool calls, otherwise `end`. */
  stopReason?: StopReason
  usage?: Partial<Usage>
  /** By the clock, before anything else. */
  delayMs?: number
  /** By the clock, between two deltas. */
  deltaDelayMs?: number
  /** Characters per delta; by default the whole text at once. */
  deltaLength?: number
  /** Thrown instead of the end: after the deltas if there is text, otherwise at once. */
  error?: ModelError
}

export type Script =
  | readonly ScriptedReply[]
  | ((request: ModelRequest, call: number) => ScriptedReply | Promise<ScriptedReply>)

export interface ScriptedModel extends LanguageModel {
  /** Every request, in order, as it was on arrival. */
  readonly requests: readonly ModelRequest[]
}

/** A model without a provider, for tests: it plays its script and records its requests. */
export function createScriptedModel(options: {
  script: Script
  clock?: Clock
  info?: Partial<ModelInfo>
}): ScriptedModel {
  const { script, clock } = options
  const info: ModelInfo = {
    id: 'scripted/main',
    maxTokens: 4_096,
    maxContextTokens: 200_000,
    supportsVision: true,
    costPerMtok: [3, 15, 0.3, 3.75],
    ...options.info,
  }
  const requests: ModelRequest[] = []

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelStreamEvent> {
    const call = requests.push({ ...request, messages: structuredClone(request.messages) })
    const reply = typeof script === 'function' ? await script(request, call) : script[call - 1]
    if (!reply) throw new ModelError('rejected', `The script has no reply to call ${call}`, { retryable: false })
    const { thinking = '', text = '', deltaLength = Number.POSITIVE_INFINITY } = reply
    await pause(reply.delayMs, signal)
    for (const [type, content] of [
      ['thinking_delta', thinking],
      ['text_delta', text],
    ] as const) {
      for (let start = 0; start < content.length; start += deltaLength) {
        if (start > 0) await pause(reply.deltaDelayMs, signal)
        yield { type, text: content.slice(start, start + deltaLength) }
      }
    }
    throwIfStopped(signal)
    if (reply.error) throw reply.error
    yield {
      type: 'finished',
      response: { parts: partsOf(reply, call), stopReason: stopOf(reply), usage: usageOf(reply) },
    }
  }

  async function pause(delayMs: number | undefined, signal: AbortSignal): Promise<void> {
    throwIfStopped(signal)
    if (!delayMs || !clock) return
    await sleep(clock, delayMs, signal).catch(() => throwIfStopped(signal))
  }

  function partsOf({ thinking, text, toolCalls = [] }: ScriptedReply, call: number): AssistantPart[] {
    const provider = info.id.split('/')[0] ?? info.id
    const parts: AssistantPart[] = []
    if (thinking)
      parts.push({ type: 'thinking', text: thinking, replay: { provider, metadata: { signature: `signed ${call}` } } })
    if (text) parts.push({ type: 'text', text })
    for (const [index, { id, name, input = {} }] of toolCalls.entries()) {
      parts.push({ type: 'tool_call', id: id ?? `call_${call}_${index + 1}`, name, input })
    }
    return parts
  }

  return { info, stream, requests }
}

function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw new ModelError('aborted', 'The call was stopped', { retryable: false })
}

function stopOf({ stopReason, toolCalls = [] }: ScriptedReply): StopReason {
  return stopReason ?? (toolCalls.length > 0 ? 'tool_use' : 'end')
}

function usageOf({ usage }: ScriptedReply): Usage {
  return { inputTokens: 100, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0, ...usage }
}
