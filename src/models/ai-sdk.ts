import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4Message,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider'
import type {
  AssistantPart,
  Json,
  ModelMessage,
  StopReason,
  TextPart,
  ThinkingPart,
  ToolChoice,
  ToolDefinition,
  Usage,
  UserPart,
} from '../protocol/messages.ts'
import {
  brokenOff,
  type CacheLayer,
  createInputSettler,
  createToolCallIds,
  filteredNotice,
  type LanguageModel,
  type MediaContents,
  type ModelInfo,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamEvent,
  readAllMedia,
  readToolInput,
  replayableParts,
  type SystemBlock,
  type ToolCallIds,
  toObjectInput,
} from './model.ts'
import { type FailedCall, toModelError, toStreamError } from './model-errors.ts'
import type { ModelSettings } from './provider-connection.ts'
import { type StrictForm, toStrictSchema } from './strict-schema.ts'

/** The specifics of one provider behind the AI SDK's model specification. */
export interface AiSdkWire {
  /** The key of this SDK's provider options and metadata on a message, a part or a call. */
  optionsKey: string
  /** Loads the SDK. Called once, on the first use of the model. */
  load(): Promise<LanguageModelV4>
  /** Options of one call. `thinkingInterrupted`: the current turn began without this provider's thinking. */
  callOptions(call: { thinkingInterrupted: boolean }): { [key: string]: Json }
  /** Marks a message as the end of a prefix to cache; undefined if the provider finds prefixes itself. */
  cacheBoundary: SharedV4ProviderOptions | undefined
  strictForm: StrictForm
  readsPdf: boolean
  /** Whether the provider would accept this thinking of its own. */
  canReplay(part: ThinkingPart): boolean
}

type FinishPart = Extract<LanguageModelV4StreamPart, { type: 'finish' }>

function createAnswer(options: {
  providerName: string
  optionsKey: string
  ids: ToolCallIds
  /** The last change to a call's arguments, such as removing nulls that strict schemas added. */
  settleInput(toolName: string, input: Json): Json
}) {
  const { providerName, optionsKey, ids, settleInput } = options
  const parts: AssistantPart[] = []
  // SDKs reuse an id for a later block of the same kind, so a block is open only between its start and its end.
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
    // Thinking must name its provider even without metadata: it is never sent to another one.
    if (type === 'thinking') block.replay = { provider: providerName, metadata: {} }
    parts.push(block)
    open.set(`${type} ${id}`, block)
    return block
  }

  const answer = {
    finish: undefined as FinishPart | undefined,
    add(part: LanguageModelV4StreamPart): ModelStreamEvent | undefined {
      switch (part.type) {
        case 'text-start':
        case 'text-delta':
        case 'text-end':
        case 'reasoning-start':
        case 'reasoning-delta':
        case 'reasoning-end': {
          const kind = part.type.startsWith('text') ? 'text' : 'thinking'
          const block = blockOf(kind, part.id)
          remember(block, part.providerMetadata)
          if (part.type.endsWith('-end')) open.delete(`${kind} ${part.id}`)
          if (!('delta' in part) || part.delta === '') return undefined
          block.text += part.delta
          return { type: `${kind}_delta`, text: part.delta }
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
    response({ finishReason, usage }: FinishPart): ModelResponse {
      return {
        parts: parts.filter((part) => part.type === 'tool_call' || part.text !== '' || carriesSignature(part)),
        stopReason: stopReasons.get(finishReason.unified) ?? 'other',
        usage: toUsage(usage),
        ...(finishReason.unified === 'content-filter' && finishReason.raw !== 'refusal' && { notice: filteredNotice }),
      }
    },
  }
  return answer
}

/** Empty on purpose: redacted or encrypted thinking, or a separate signature. */
function carriesSignature({ type, replay }: AssistantPart): boolean {
  const names = Object.keys(replay?.metadata ?? {})
  return type === 'thinking' ? names.length > 0 : names.includes('thoughtSignature')
}

const stopReasons: ReadonlyMap<string, StopReason> = new Map([
  ['stop', 'end'],
  ['tool-calls', 'tool_use'],
  ['length', 'max_tokens'],
  ['content-filter', 'refusal'],
])

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

interface PromptContext {
  info: ModelInfo
  providerName: string
  wire: AiSdkWire
}

type SdkMessage = Exclude<LanguageModelV4Message, { role: 'system' }>
type SdkUserPart = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number]
type SdkAssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]

/** Converts a neutral request to the prompt of the SDK's model specification. */
async function toSdkPrompt(request: ModelRequest, context: PromptContext): Promise<LanguageModelV4Message[]> {
  const prompt = toSdkSystem(request.system, context.wire.cacheBoundary)
  const media = await readAllMedia(request, { info: context.info, readsPdf: context.wire.readsPdf })
  for (const message of request.messages) {
    const converted = toSdkMessage(message, media, context)
    if (converted.content.length > 0) prompt.push(converted)
  }
  // Only the newest message carries the mark: an old mark would change bytes in the middle of the history.
  const newest = prompt.at(-1)
  if (newest && newest.role !== 'system' && context.wire.cacheBoundary) {
    newest.providerOptions = context.wire.cacheBoundary
  }
  return prompt
}

function toSdkTools(
  tools: readonly ToolDefinition[],
  options: { wire: AiSdkWire; strictTools: boolean },
): LanguageModelV4FunctionTool[] {
  return tools.map(({ name, description, inputSchema, strict }) => {
    const closed = strict || options.strictTools ? toStrictSchema(inputSchema, options.wire.strictForm) : undefined
    const schema = (closed ?? inputSchema) as LanguageModelV4FunctionTool['inputSchema']
    return { type: 'function', name, description, inputSchema: schema, ...(closed && { strict: true }) }
  })
}

const cachedLayers: readonly CacheLayer[] = ['stable', 'semi_stable']

/**
 * One message per block if the provider marks boundaries; otherwise one message: many chat templates accept no second.
 */
function toSdkSystem(blocks: SystemBlock[], boundary: SharedV4ProviderOptions | undefined): LanguageModelV4Message[] {
  const sent = blocks
    .map((block) => ({ ...block, text: block.text.toWellFormed() }))
    .filter(({ text }) => text.trim() !== '')
  if (sent.length === 0) return []
  if (!boundary) return [{ role: 'system', content: sent.map(({ text }) => text).join('\n\n') }]
  const ends = new Set(cachedLayers.map((layer) => sent.findLast((block) => block.layer === layer)))
  return sent.map((block) => ({
    role: 'system',
    content: block.text,
    ...(ends.has(block) && { providerOptions: boundary }),
  }))
}

function toSdkMessage(message: ModelMessage, media: MediaContents, context: PromptContext): SdkMessage {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: message.parts.flatMap((part) => toSdkUserPart(part, media)) }
    case 'assistant': {
      const { providerName: provider, wire } = context
      const parts = replayableParts({ parts: message.parts, provider, canReplay: wire.canReplay })
      return { role: 'assistant', content: parts.map((part) => toSdkAssistantPart(part, context)) }
    }
    case 'tool':
      return {
        role: 'tool',
        content: message.results.map(({ callId, name, text, isError }) => ({
          type: 'tool-result',
          toolCallId: callId,
          toolName: sendableName(name),
          output: { type: isError ? 'error-text' : 'text', value: text.toWellFormed() },
        })),
      }
  }
}

function toSdkUserPart(part: UserPart, media: MediaContents): SdkUserPart[] {
  if (part.type === 'text') return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text.toWellFormed() }]
  const content = media.get(part)
  if (!content) return []
  if (content.type === 'note') return [{ type: 'text', text: content.text }]
  const { mediaType, name, base64 } = content
  return [{ type: 'file', mediaType, filename: name, data: { type: 'data', data: base64 } }]
}

function toSdkAssistantPart(part: AssistantPart, context: PromptContext): SdkAssistantPart {
  const { providerName, wire } = context
  const replay = part.replay?.provider === providerName ? part.replay : undefined
  const providerOptions = replay && { providerOptions: { [wire.optionsKey]: replay.metadata } }
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text.toWellFormed(), ...providerOptions }
    case 'thinking':
      return { type: 'reasoning', text: part.text, ...providerOptions }
    case 'tool_call': {
      const { id: toolCallId, name, input } = part
      const toolName = sendableName(name)
      return { type: 'tool-call', toolCallId, toolName, input: toObjectInput(input), ...providerOptions }
    }
  }
}

/**
 * The SDK looks names up in a plain object: for a call to `constructor` it would send a property of every object. No
 * such tool exists; the call is reported under a name that can be sent.
 */
function sendableName(name: string): string {
  return name in Object.prototype ? `${name}_` : name
}

/** A model behind the AI SDK's specification, one request per call: without the SDK's own loops or retries. */
export function createAiSdkModel(options: {
  info: ModelInfo
  providerName: string
  settings: ModelSettings
  wire: AiSdkWire
  apiKey: string | undefined
}): LanguageModel {
  const { info, providerName, settings, wire, apiKey } = options
  const context: PromptContext = { info, providerName, wire }
  const { strictTools = false } = settings
  let loading: Promise<LanguageModelV4> | undefined

  async function* stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelStreamEvent> {
    // A separate controller, so that a consumer that stops reading ends the request like an abort.
    const unread = new AbortController()
    let begun = false
    const failed = (): FailedCall => ({ modelId: info.id, apiKey, signal, begun })
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
      const model = await loading.catch((error: unknown) => {
        // A package that is installed now is available for the next message.
        loading = undefined
        throw error
      })
      const sent = await model.doStream(await callOptions(request, AbortSignal.any([signal, unread.signal])))
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
      if (!whole) unread.abort()
    }
  }

  async function callOptions(request: ModelRequest, signal: AbortSignal): Promise<LanguageModelV4CallOptions> {
    const own = wire.callOptions({ thinkingInterrupted: lacksOwnThinking(request, context) })
    return {
      prompt: await toSdkPrompt(request, context),
      maxOutputTokens: Math.min(request.maxTokens, info.maxTokens),
      abortSignal: signal,
      providerOptions: { [wire.optionsKey]: own },
      ...(request.tools.length > 0 && { tools: toSdkTools(request.tools, { wire, strictTools }) }),
      ...(request.toolChoice && { toolChoice: toSdkChoice(request.toolChoice) }),
      ...(settings.temperature !== undefined && { temperature: settings.temperature }),
    }
  }

  return { info, stream }
}

function toSdkChoice(choice: ToolChoice): NonNullable<LanguageModelV4CallOptions['toolChoice']> {
  return choice === 'any' ? { type: 'required' } : { type: 'tool', toolName: choice.name }
}

const asSent = (_toolName: string, input: Json) => input

function complete({ finish, response }: ReturnType<typeof createAnswer>, modelId: string): ModelResponse {
  const reason = finish?.finishReason
  if (!finish || reason?.unified === 'interrupted' || reason?.unified === 'error') {
    const detail = reason?.raw ? ` (${reason.raw})` : ''
    throw brokenOff(modelId, `the response ended early${detail}`)
  }
  return response(finish)
}

/** Whether the current turn began without this provider's thinking: by another model, or before it was switched on. */
function lacksOwnThinking({ messages }: ModelRequest, { providerName }: PromptContext): boolean {
  if (messages.at(-1)?.role !== 'tool') return false
  const turn = messages.slice(messages.findLastIndex((message) => message.role === 'user') + 1)
  return !turn.some(
    (message) =>
      message.role === 'assistant' &&
      message.parts.some((part) => part.type === 'thinking' && part.replay?.provider === providerName),
  )
}
