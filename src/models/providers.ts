import { z } from 'zod'
import { parseJson } from '../base/json.ts'
import { readLines } from '../base/text.ts'
import type { AssistantPart, Json, ModelMessage, StopReason } from '../protocol/messages.ts'
import { type AiSdkWire, createAiSdkModel } from './ai-sdk.ts'
import { type HomePackages, packageWire } from './ai-sdk-packages.ts'
import {
  appendDelta,
  brokenOff,
  createToolCallIds,
  type LanguageModel,
  type MediaContents,
  type ModelInfo,
  type ModelRequest,
  type ModelStreamEvent,
  readAllMedia,
  readToolInput,
  replayableParts,
  type ToolCallIds,
  toObjectInput,
} from './model.ts'
import { type FailedCall, toModelError, toStreamError } from './model-errors.ts'
import { createOpenaiChatModel } from './openai-chat.ts'
import {
  fetchWithKeyLast,
  type ModelSettings,
  type ProviderConnection,
  type ProviderType,
  toEffort,
  withKeyLast,
} from './provider-connection.ts'

/** Anthropic's Messages API. */
function anthropicWire({ baseUrl, apiKey, settings, fetch }: ProviderConnection): AiSdkWire {
  return {
    optionsKey: 'anthropic',
    async load() {
      // The class behind the public factory: only it gives access to the body before it becomes text.
      const { AnthropicLanguageModel } = await import('@ai-sdk/anthropic/internal')
      return new AnthropicLanguageModel(settings.model, {
        provider: 'anthropic.messages',
        baseURL: withVersion(baseUrl),
        headers: { 'anthropic-version': '2023-06-01', 'x-api-key': apiKey ?? '' },
        fetch,
        // Tools, system, messages: the order in which the provider caches them.
        transformRequestBody: (body) => withKeyLast(withKeyLast(withKeyLast(body, 'tools'), 'system'), 'messages'),
      })
    },
    callOptions: ({ thinkingInterrupted }) => ({
      // Pings are the only sign of activity while a model thinks without output.
      includePings: true,
      // A field that only Anthropic's own servers know.
      toolStreaming: false,
      ...thinkingOptions(settings, thinkingInterrupted),
      ...(settings.oneCallAtATime && { disableParallelToolUse: true }),
    }),
    cacheBoundary: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    strictForm: 'closed',
    readsPdf: true,
    canReplay: ({ replay }) => 'signature' in (replay?.metadata ?? {}) || 'redactedData' in (replay?.metadata ?? {}),
  }
}

/** Thinking of these models is bound to everything before it; by default a changed prefix rejects the whole request. */
const boundThinking = /claude-(?:fable-5-[12]|opus-5-5|sonnet-5-5)/
/** From 4.6 on a Claude decides itself how long to think, and effort replaces the budget. */
const adaptiveThinking = /claude-(?:[a-z]+)-(?:4-[6-9]|[5-9])(?:\D|$)/

function thinkingOptions({ model, thinkingTokens }: ModelSettings, interrupted: boolean): { [key: string]: Json } {
  const binding = boundThinking.test(model) && { blockBinding: { prefixMismatchBehavior: 'drop_block' } }
  if (thinkingTokens === undefined) return binding ? { thinking: binding } : {}
  if (thinkingTokens === 0) return { thinking: { type: 'disabled' } }
  if (adaptiveThinking.test(model)) {
    return { thinking: { type: 'adaptive', display: 'summarized', ...binding }, effort: toEffort(thinkingTokens) }
  }
  // With a budget, a turn that began without thinking must end without it.
  return interrupted ? {} : { thinking: { type: 'enabled', budgetTokens: Math.max(1024, thinkingTokens) } }
}

/** Both `https://host` and `https://host/v1` are in use for this API. */
function withVersion(baseUrl: string): string {
  const trimmed = baseUrl.replace(/\/+$/, '')
  return new URL(trimmed).pathname === '/' ? `${trimmed}/v1` : trimmed
}

/** Google's Gemini API. */
function googleWire({ baseUrl, apiKey, settings, fetch }: ProviderConnection): AiSdkWire {
  return {
    optionsKey: 'google',
    async load() {
      const { createGoogle } = await import('@ai-sdk/google')
      const provider = createGoogle({
        baseURL: baseUrl,
        apiKey: apiKey ?? '',
        fetch: fetchWithKeyLast(fetch, 'contents'),
      })
      return provider.chat(settings.model)
    },
    callOptions: () => googleThinkingOptions(settings),
    cacheBoundary: undefined,
    strictForm: 'closed',
    readsPdf: true,
    canReplay: () => true,
  }
}

/** Google's models that make pictures. */
export async function openGoogleImages(
  connection: Pick<ProviderConnection, 'baseUrl' | 'apiKey' | 'settings' | 'fetch'>,
) {
  const { baseUrl: baseURL, apiKey = '', settings, fetch } = connection
  const { createGoogle } = await import('@ai-sdk/google')
  return createGoogle({ baseURL, apiKey, fetch }).image(settings.model)
}

/** Up to 2.5 a Gemini has a thinking budget; later ones have a level and cannot switch thinking off. */
function googleThinkingOptions({ model, thinkingTokens }: ModelSettings): { [key: string]: Json } {
  if (thinkingTokens === undefined) return {}
  const includeThoughts = thinkingTokens > 0
  if (/gemini-[12]\b/.test(model)) return { thinkingConfig: { thinkingBudget: thinkingTokens, includeThoughts } }
  return { thinkingConfig: { thinkingLevel: toEffort(thinkingTokens), includeThoughts } }
}

/**
 * OpenAI's Responses API, the only one of its APIs that returns reasoning (encrypted) and accepts it again. Nothing is
 * stored at the provider: every request carries its whole conversation. Servers with chat completions only are
 * `openai-compatible`.
 */
function openaiWire({ baseUrl, apiKey, settings, fetch }: ProviderConnection): AiSdkWire {
  const { thinkingTokens } = settings
  return {
    optionsKey: 'openai',
    async load() {
      const { createOpenAI } = await import('@ai-sdk/openai')
      const provider = createOpenAI({ baseURL: baseUrl, apiKey: apiKey ?? '', fetch: fetchWithKeyLast(fetch, 'input') })
      return provider.responses(settings.model)
    },
    callOptions: () => ({
      store: false,
      ...(thinkingTokens === 0 && { reasoningEffort: 'none' }),
      ...(thinkingTokens && {
        forceReasoning: true,
        reasoningEffort: toEffort(thinkingTokens),
        reasoningSummary: 'auto',
      }),
      ...(settings.oneCallAtATime && { parallelToolCalls: false }),
    }),
    cacheBoundary: undefined,
    strictForm: 'complete',
    readsPdf: true,
    // An item without encrypted content can only be resolved by the provider's own store.
    canReplay: ({ replay }) => typeof replay?.metadata.reasoningEncryptedContent === 'string',
  }
}

const wires = { anthropic: anthropicWire, openai: openaiWire, google: googleWire }

export function openModel(options: {
  type: Exclude<ProviderType, 'offline'>
  providerName: string
  info: ModelInfo
  connection: ProviderConnection
  sdkPackage: { name: string; home: HomePackages | undefined }
}): LanguageModel {
  const { type, providerName, info, connection, sdkPackage } = options
  if (type === 'ollama') return createOllamaModel({ ...connection, info, providerName })
  if (type === 'openai-compatible') return createOpenaiChatModel({ ...connection, info, providerName })
  const { apiKey, settings } = connection
  const wire = type === 'ai-sdk' ? packageWire(connection, sdkPackage) : wires[type](connection)
  return createAiSdkModel({ info, providerName, settings, wire, apiKey })
}

interface OllamaContext {
  info: ModelInfo
  providerName: string
}

async function toOllamaMessages(request: ModelRequest, context: OllamaContext): Promise<OllamaMessage[]> {
  const system = request.system.map(({ text }) => text.trim()).filter((text) => text !== '')
  const messages: OllamaMessage[] = system.length > 0 ? [{ role: 'system', content: system.join('\n\n') }] : []
  const media = await readAllMedia(request, { info: context.info, readsPdf: false })
  return [...messages, ...request.messages.flatMap((message) => toOllamaMessage(message, media, context))]
}

function toOllamaMessage(message: ModelMessage, media: MediaContents, context: OllamaContext): OllamaMessage[] {
  switch (message.role) {
    case 'user': {
      const contents = message.parts.flatMap((part) => (part.type === 'text' ? part : media.get(part)) ?? [])
      const texts = contents.flatMap((content) => (content.type === 'file' ? [] : content.text))
      const images = contents.flatMap((content) => (content.type === 'file' ? content.base64 : []))
      return [{ role: 'user', content: texts.join('\n\n'), ...(images.length > 0 && { images }) }]
    }
    case 'assistant': {
      const parts = replayableParts({ parts: message.parts, provider: context.providerName, canReplay: () => true })
      if (parts.length === 0) return []
      const joined = (type: 'text' | 'thinking') => parts.map((part) => (part.type === type ? part.text : '')).join('')
      const thinking = joined('thinking')
      const calls = parts.flatMap((part) =>
        part.type === 'tool_call'
          ? { id: part.id, function: { name: part.name, arguments: toObjectInput(part.input) } }
          : [],
      )
      const said = { content: joined('text'), ...(thinking !== '' && { thinking }) }
      return [{ role: 'assistant', ...said, ...(calls.length > 0 && { tool_calls: calls }) }]
    }
    case 'tool':
      return message.results.map(({ callId, name, text, isError }) => ({
        role: 'tool',
        // The API has no field for failure.
        content: isError ? `Error: ${text}` : text,
        tool_name: name,
        tool_call_id: callId,
      }))
  }
}

/** One line of the response of `POST /api/chat`. Everything is optional: servers with this API differ. */
const ollamaLineSchema = z.object({
  message: z
    .object({
      content: z.string().nullish(),
      thinking: z.string().nullish(),
      tool_calls: z
        .array(
          z.object({
            id: z.string().nullish(),
            function: z.object({ name: z.string(), arguments: z.json().nullish() }),
          }),
        )
        .nullish(),
    })
    .nullish(),
  done: z.boolean().nullish(),
  done_reason: z.string().nullish(),
  prompt_eval_count: z.number().nullish(),
  eval_count: z.number().nullish(),
  error: z.string().nullish(),
})
type OllamaLine = z.infer<typeof ollamaLineSchema>

interface OllamaMessage {
  role: 'system' | 'user' | 'assistant' | 'tool'
  content: string
  images?: string[]
  thinking?: string
  tool_calls?: { id: string; function: { name: string; arguments: unknown } }[]
  tool_name?: string
  tool_call_id?: string
}

/**
 * A model served by Ollama, through Ollama's own API: its OpenAI-compatible one hides thinking and the context length.
 */
function createOllamaModel(options: ProviderConnection & OllamaContext): LanguageModel {
  const { info, providerName, baseUrl, apiKey, settings, fetch } = options
  const url = `${baseUrl.replace(/\/+$/, '').replace(/\/(?:api|v1)$/, '')}/api/chat`

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelStreamEvent> {
    let begun = false
    const failed = (): FailedCall => ({ modelId: info.id, apiKey, signal, begun })
    const answer = createOllamaAnswer(providerName, createToolCallIds(request.messages))
    try {
      signal.throwIfAborted()
      const received = await post(await body(request), signal)
      begun = true
      for await (const line of readLines(received)) {
        request.onActivity?.()
        const parsed = parseJson(line, ollamaLineSchema)
        if (!parsed.ok) throw brokenOff(info.id, `a line could not be read: ${parsed.message}`)
        if (parsed.value.error) throw toStreamError({ message: parsed.value.error }, failed())
        yield* answer.add(parsed.value)
        if (parsed.value.done) {
          yield answer.finished(parsed.value)
          return
        }
      }
      throw brokenOff(info.id, 'the response ended early')
    } catch (error) {
      throw toModelError(error, failed())
    }
  }

  async function post(content: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (apiKey) headers.authorization = `Bearer ${apiKey}`
    const response = await fetch(url, { method: 'POST', headers, body: content, signal })
    if (response.ok && response.body) return response.body
    throw {
      message: response.statusText,
      statusCode: response.status,
      responseHeaders: Object.fromEntries(response.headers),
      responseBody: await response.text(),
    }
  }

  async function body(request: ModelRequest): Promise<string> {
    const { model, thinkingTokens, temperature, maxContextTokens } = settings
    return JSON.stringify({
      model,
      stream: true,
      ...(thinkingTokens !== undefined && { think: thinkingTokens > 0 }),
      options: {
        num_predict: Math.min(request.maxTokens, info.maxTokens),
        // Without it Ollama silently truncates the conversation to a few thousand tokens.
        ...(maxContextTokens !== undefined && { num_ctx: maxContextTokens }),
        ...(temperature !== undefined && { temperature }),
      },
      ...(request.tools.length > 0 && {
        tools: request.tools.map(({ name, description, inputSchema }) => ({
          type: 'function',
          function: { name, description, parameters: inputSchema },
        })),
      }),
      messages: await toOllamaMessages(request, { info, providerName }),
    })
  }

  return { info, stream }
}

function createOllamaAnswer(providerName: string, ids: ToolCallIds) {
  const parts: AssistantPart[] = []

  return {
    *add({ message }: OllamaLine): Generator<ModelStreamEvent> {
      for (const [type, text] of [['thinking', message?.thinking] as const, ['text', message?.content] as const]) {
        if (!text) continue
        appendDelta(parts, providerName, type, text)
        yield { type: `${type}_delta`, text }
      }
      for (const { id, function: called } of message?.tool_calls ?? []) {
        const input = readToolInput(called.arguments ?? undefined)
        parts.push({ type: 'tool_call', id: ids.take(id ?? undefined), name: called.name, input })
      }
    },
    finished(line: OllamaLine): ModelStreamEvent {
      const usage = {
        inputTokens: line.prompt_eval_count ?? 0,
        outputTokens: line.eval_count ?? 0,
        cacheReadTokens: 0,
        cacheWriteTokens: 0,
      }
      return { type: 'finished', response: { parts, stopReason: stopReasonOf(line, parts), usage } }
    },
  }
}

/** Ollama sends `stop` also when it stopped for a tool call. */
function stopReasonOf({ done_reason }: OllamaLine, parts: AssistantPart[]): StopReason {
  if (done_reason === 'length') return 'max_tokens'
  if (parts.some((part) => part.type === 'tool_call')) return 'tool_use'
  return done_reason === 'stop' || !done_reason ? 'end' : 'other'
}
