import { setTimeout as wait } from 'node:timers/promises'
import { createEventReader, type ServerSentEvent } from '../base/server-sent-events.ts'
import type { AssistantPart, Json, ModelMessage, ToolChoice, ToolDefinition, UserPart } from '../protocol/messages.ts'
import type { OpenedAnswer, OpenInit } from '../security/network/guarded-fetch.ts'
import {
  brokenOff,
  createInputSettler,
  createToolCallIds,
  type LanguageModel,
  type MediaContents,
  type ModelInfo,
  type ModelRequest,
  type ModelStreamEvent,
  readAllMedia,
  replayableParts,
  type SystemBlock,
  toObjectInput,
} from './model.ts'
import { type FailedCall, toModelError, toStreamError } from './model-errors.ts'
import {
  type ChatChunk,
  createChatAnswer,
  readChatChunk,
  type ThinkingField,
  thinkingFields,
} from './openai-chat-answer.ts'
import { type ModelSettings, type ProviderConnection, toEffort } from './provider-connection.ts'
import { toStrictSchema } from './strict-schema.ts'

const endOfBodyMs = 1_000
const maxErrorBytes = 64 * 1024

/** Any server that speaks OpenAI's chat completions: OpenRouter, Groq, vLLM, LM Studio, llama.cpp, … */
export function createOpenaiChatModel(
  options: ProviderConnection & { info: ModelInfo; providerName: string },
): LanguageModel {
  const { info, providerName, baseUrl, apiKey, settings, fetch } = options
  const open = fetch.open ?? openWithFetch(fetch)
  const url = `${baseUrl}/chat/completions`
  const headers: Record<string, string> = { 'content-type': 'application/json' }
  if (apiKey) headers.authorization = `Bearer ${apiKey}`

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelStreamEvent> {
    let opened: OpenedAnswer | undefined
    const failed = (): FailedCall => ({ modelId: info.id, apiKey, signal, begun: opened !== undefined })
    const answer = createChatAnswer({
      providerName,
      ids: createToolCallIds(request.messages),
      settleInput: createInputSettler({ tools: request.tools, strictTools: settings.strictTools ?? false }),
    })
    let ended = false
    let whole = false
    try {
      signal.throwIfAborted()
      opened = await post(await toChatRequest(request, { info, providerName, settings }), signal)
      const body = createBodyReader()
      while (!ended && !whole) {
        const bytes = await opened.read()
        // Also for data without an event: servers send comments before the model starts.
        request.onActivity?.()
        ended = bytes === undefined
        for (const data of bytes ? body.push(bytes) : body.end()) {
          request.onActivity?.()
          whole ||= data.startsWith('[DONE]')
          const chunk = readData(data, body.isWholeJson())
          if (!chunk) continue
          if (chunk.error) {
            const error = typeof chunk.error === 'object' ? chunk.error : { message: String(chunk.error) }
            throw toStreamError(error, failed())
          }
          for (const event of answer.add(chunk)) yield event
        }
      }
      const failure = answer.failure()
      if (failure) throw brokenOff(info.id, failure)
      for (const event of answer.end()) yield event
      const response = answer.response(whole || body.isWholeJson())
      if (!response) throw brokenOff(info.id, 'the response ended early')
      yield { type: 'finished', response }
    } catch (error) {
      throw toModelError(error instanceof RangeError ? brokenOff(info.id, error.message) : error, failed())
    } finally {
      if (opened && !ended) void release(opened, whole)
    }
  }

  async function post(body: string, signal: AbortSignal): Promise<OpenedAnswer> {
    const opened = await open(url, { method: 'POST', headers, body, signal })
    if (opened.status >= 200 && opened.status < 300) return opened
    throw {
      message: opened.statusText,
      statusCode: opened.status,
      responseHeaders: opened.headers,
      responseBody: await readError(opened),
    }
  }

  /** Undefined for data that is not a chunk: the `[DONE]` at the end, a ping. */
  function readData(data: string, isWhole: boolean): ChatChunk | undefined {
    if (!data.startsWith('{')) return undefined
    const chunk = readChatChunk(data, { isWhole })
    if (!chunk) throw brokenOff(info.id, 'the response ended in the middle of a line')
    return chunk
  }

  return { info, stream }
}

/**
 * After a complete response only the end of the body is missing; with it the connection can be reused. If it does not
 * arrive in time, the connection is closed.
 */
async function release(opened: OpenedAnswer, whole: boolean): Promise<void> {
  if (!whole) return opened.cancel()
  const late = wait(endOfBodyMs, 'late', { ref: false })
  // A connection that breaks now is as good as closed.
  const rest = await Promise.race([opened.read().catch(() => undefined), late])
  if (rest !== undefined) opened.cancel()
}

/** A provider's error text, up to a readable length. */
async function readError(opened: OpenedAnswer): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for (let bytes = await opened.read(); bytes; bytes = await opened.read()) {
    text += decoder.decode(bytes, { stream: true })
    if (text.length > maxErrorBytes) {
      opened.cancel()
      break
    }
  }
  return text
}

type ChatContentPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }

interface ChatToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
  extra_content?: { google: { thought_signature: string } }
}

type AssistantMessage = { [field in ThinkingField]?: string } & {
  role: 'assistant'
  content: string | null
  reasoning_details?: Json
  tool_calls?: ChatToolCall[]
}

type ChatMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string | ChatContentPart[] }
  | AssistantMessage
  | { role: 'tool'; tool_call_id: string; content: string }

/** One message: many chat templates accept no second. */
function toSystemMessage(blocks: readonly SystemBlock[]): ChatMessage[] {
  const texts = blocks.map(({ text }) => text.toWellFormed()).filter((text) => text.trim() !== '')
  return texts.length === 0 ? [] : [{ role: 'system', content: texts.join('\n\n') }]
}

function addMessage(
  messages: ChatMessage[],
  message: ModelMessage,
  { provider, media }: { provider: string; media: MediaContents },
): void {
  switch (message.role) {
    case 'user': {
      const content = message.parts.flatMap((part) => toContentPart(part, media) ?? [])
      const [only] = content
      if (only)
        messages.push({ role: 'user', content: content.length === 1 && only.type === 'text' ? only.text : content })
      return
    }
    case 'assistant': {
      const parts = replayableParts({ parts: message.parts, provider, canReplay: () => true })
      if (parts.length > 0) messages.push(toAssistantMessage(parts, provider))
      return
    }
    case 'tool':
      for (const { callId, text } of message.results) {
        messages.push({ role: 'tool', tool_call_id: callId, content: text.toWellFormed() })
      }
  }
}

function toContentPart(part: UserPart, media: MediaContents): ChatContentPart | undefined {
  if (part.type === 'text')
    return part.text.trim() === '' ? undefined : { type: 'text', text: part.text.toWellFormed() }
  const content = media.get(part)
  if (!content) return undefined
  if (content.type === 'note') return { type: 'text', text: content.text }
  return { type: 'image_url', image_url: { url: `data:${content.mediaType};base64,${content.base64}` } }
}

function toAssistantMessage(parts: readonly AssistantPart[], provider: string): ChatMessage {
  let text = ''
  let thinking = ''
  let details: Json | undefined
  let field: ThinkingField = 'reasoning_content'
  const calls: ChatToolCall[] = []
  for (const part of parts) {
    if (part.type === 'text') text += part.text.toWellFormed()
    else if (part.type === 'thinking') {
      thinking += part.text
      details ??= part.replay?.metadata.reasoningDetails
      field = thinkingFields.find((name) => name === part.replay?.metadata.field) ?? field
    } else calls.push(toToolCall(part, provider))
  }
  const message: AssistantMessage = { role: 'assistant', content: text === '' && calls.length > 0 ? null : text }
  // The details contain the thinking too; sending both would repeat it.
  if (details !== undefined) message.reasoning_details = details
  else if (thinking !== '') message[field] = thinking
  if (calls.length > 0) message.tool_calls = calls
  return message
}

function toToolCall(part: Extract<AssistantPart, { type: 'tool_call' }>, provider: string): ChatToolCall {
  const { id, name, input, replay } = part
  const signature = replay?.provider === provider ? replay.metadata.thoughtSignature : undefined
  return {
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(toObjectInput(input)) },
    // Gemini behind a compatible server rejects its own call without this.
    ...(typeof signature === 'string' && { extra_content: { google: { thought_signature: signature } } }),
  }
}

/**
 * The body of one call. The conversation is its last key, so that a request is the previous one plus the new part, byte
 * for byte, with nothing constant after the growing part. The same history gives the same messages every time.
 */
export async function toChatRequest(
  request: ModelRequest,
  { settings, info, providerName }: { settings: ModelSettings; info: ModelInfo; providerName: string },
): Promise<string> {
  const media = await readAllMedia(request, { info, readsPdf: false })
  const messages = toSystemMessage(request.system)
  for (const message of request.messages) addMessage(messages, message, { provider: providerName, media })
  const { model, temperature, thinkingTokens, oneCallAtATime, strictTools = false } = settings
  return JSON.stringify({
    model,
    max_tokens: Math.min(request.maxTokens, info.maxTokens),
    ...(temperature !== undefined && { temperature }),
    ...(oneCallAtATime && { parallel_tool_calls: false }),
    ...(thinkingTokens && { reasoning_effort: toEffort(thinkingTokens) }),
    ...(request.tools.length > 0 && { tools: request.tools.map((tool) => toChatTool(tool, strictTools)) }),
    ...(request.toolChoice && { tool_choice: toChatChoice(request.toolChoice) }),
    stream: true,
    stream_options: { include_usage: true },
    messages,
  })
}

function toChatChoice(choice: ToolChoice): string | object {
  return choice === 'any' ? 'required' : { type: 'function', function: { name: choice.name } }
}

function toChatTool({ name, description, inputSchema, strict }: ToolDefinition, strictTools: boolean): object {
  const closed = strict || strictTools ? toStrictSchema(inputSchema, 'complete') : undefined
  return {
    type: 'function',
    function: { name, description, parameters: closed ?? inputSchema, ...(closed && { strict: true }) },
  }
}

/** No answer of a model comes near it. */
const maxAnswerLength = 16 * 1024 * 1024

/**
 * The body of a response that was requested as a stream. Some servers and proxies send one JSON object instead, which
 * is then the only data.
 */
function createBodyReader() {
  const events = createEventReader()
  const decoder = new TextDecoder()
  let kind: 'events' | 'json' | undefined
  let text = ''

  function push(bytes: Uint8Array): string[] {
    if (kind === 'events') return dataOf(events.push(bytes))
    text += decoder.decode(bytes, { stream: true })
    if (text.length > maxAnswerLength) throw new RangeError(`the response is longer than ${maxAnswerLength} characters`)
    const first = kind ? '{' : text.trimStart().at(0)
    if (first === undefined) return []
    kind = first === '{' ? 'json' : 'events'
    if (kind === 'json') return []
    const begun = new TextEncoder().encode(text)
    text = ''
    // A character that was cut is still in the decoder: an event stream does not begin with one.
    return dataOf(events.push(begun))
  }

  return {
    /** The data of each event that is now complete. */
    push,
    /** After the last byte: the rest without its blank line. */
    end(): string[] {
      if (kind !== 'json') return dataOf(events.end())
      return [(text + decoder.decode()).trim()]
    },
    isWholeJson: () => kind === 'json',
  }
}

function dataOf(events: readonly ServerSentEvent[]): string[] {
  return events.map(({ data }) => data)
}

/** The lighter way out over any `fetch`, for one that has none of its own. */
function openWithFetch(fetch: typeof globalThis.fetch): (url: string, init: OpenInit) => Promise<OpenedAnswer> {
  return async (url, { method, headers, body = null, signal }) => {
    const response = await fetch(url, { method, headers, body, signal })
    const reader = response.body?.getReader()
    return {
      status: response.status,
      statusText: response.statusText,
      headers: Object.fromEntries(response.headers),
      read: async () => (await reader?.read())?.value,
      cancel: () => void reader?.cancel().catch(() => {}),
    }
  }
}
