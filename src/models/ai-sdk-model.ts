import type { LanguageModelV4, LanguageModelV4CallOptions } from '@ai-sdk/provider'
import type { Json } from '../protocol/json.ts'
import { type Answer, createAnswer } from './ai-sdk-answer.ts'
import { type PromptContext, toSdkPrompt, toSdkTools } from './ai-sdk-prompt.ts'
import type { AiSdkWire } from './ai-sdk-wire.ts'
import { createInputSettler } from './input-settler.ts'
import type { LanguageModel, ModelInfo, ModelRequest, ModelResponse, ModelStreamEvent } from './model.ts'
import { ModelError } from './model-error.ts'
import { type FailedCall, toModelError, toStreamError } from './model-error-from.ts'
import type { ModelSettings } from './model-settings.ts'
import { createToolCallIds } from './tool-call-ids.ts'

/** A model behind the AI SDK's specification, one request to a call: none of the SDK's own loops or retries. */
export function createAiSdkModel(options: {
  info: ModelInfo
  providerName: string
  settings: ModelSettings
  wire: AiSdkWire
  apiKey: string | undefined
  now: () => number
}): LanguageModel {
  const { info, providerName, settings, wire, apiKey, now } = options
  const context: PromptContext = { info, providerName, wire }
  const { strictTools = false } = settings
  let loading: Promise<LanguageModelV4> | undefined

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelStreamEvent> {
    // Its own controller, so that a consumer that walks away ends the request as an abort does.
    const call = new AbortController()
    const stop = () => call.abort(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    let begun = false
    const failed = (): FailedCall => ({ modelId: info.id, apiKey, signal, begun, now: now() })
    const answer = createAnswer({
      providerName,
      optionsKey: wire.optionsKey,
      ids: createToolCallIds(request.messages),
      settleInput: wire.strictForm === 'complete' ? createInputSettler({ tools: request.tools, strictTools }) : asSent,
    })
    let whole = false
    try {
      signal.throwIfAborted()
      loading ??= wire.load()
      const model = await loading
      const sent = await model.doStream(await callOptions(request, call.signal))
      begun = true
      const reader = sent.stream.getReader()
      for (;;) {
        const { done, value } = await reader.read()
        if (done) break
        request.onActivity?.()
        if (value.type === 'error') throw toStreamError(value.error, failed())
        const event = answer.add(value)
        if (event) yield event
      }
      whole = true
      yield { type: 'finished', response: complete(answer, info.id) }
    } catch (error) {
      throw toModelError(error, failed())
    } finally {
      signal.removeEventListener('abort', stop)
      if (!whole) call.abort()
    }
  }

  async function callOptions(request: ModelRequest, signal: AbortSignal): Promise<LanguageModelV4CallOptions> {
    const thinkingInterrupted = lacksOwnThinking(request, context)
    const own = wire.callOptions({ thinkingInterrupted })
    return {
      prompt: await toSdkPrompt(request, context),
      maxOutputTokens: Math.min(request.maxTokens, info.maxTokens),
      abortSignal: signal,
      providerOptions: { [wire.optionsKey]: own },
      ...(request.tools.length > 0 && {
        tools: toSdkTools(request.tools, { wire, strictTools }),
      }),
      ...(settings.temperature !== undefined && { temperature: settings.temperature }),
    }
  }

  return { info, stream }
}

const asSent = (_toolName: string, input: Json) => input

function complete({ finish, response }: Answer, modelId: string): ModelResponse {
  const reason = finish?.finishReason
  if (!finish || reason?.unified === 'interrupted' || reason?.unified === 'error') {
    const detail = reason?.raw ? ` (${reason.raw})` : ''
    throw new ModelError('cut', `${modelId}: the answer broke off before its end${detail}`, { retryable: true })
  }
  return response(finish)
}

/** Whether the turn under way began without this provider's thinking: by another model, or before it was switched on. */
function lacksOwnThinking({ messages }: ModelRequest, { providerName }: PromptContext): boolean {
  if (messages.at(-1)?.role !== 'tool') return false
  const turn = messages.slice(messages.findLastIndex((message) => message.role === 'user') + 1)
  return !turn.some(
    (message) =>
      message.role === 'assistant' &&
      message.parts.some((part) => part.type === 'thinking' && part.replay?.provider === providerName),
  )
}
