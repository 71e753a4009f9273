import type { LanguageModelV4FunctionTool, LanguageModelV4Message, SharedV4ProviderOptions } from '@ai-sdk/provider'
import type { AssistantPart, ModelMessage, Replay, UserPart } from '../protocol/message.ts'
import type { ToolDefinition } from '../protocol/tool.ts'
import type { AiSdkWire } from './ai-sdk-wire.ts'
import { replayableParts } from './assistant-parts.ts'
import { type MediaContents, readAllMedia } from './media-content.ts'
import type { CacheTier, ModelInfo, ModelRequest, SystemBlock } from './model.ts'
import { toStrictSchema } from './strict-schema.ts'
import { toObjectInput } from './tool-input.ts'

export interface PromptContext {
  info: ModelInfo
  providerName: string
  wire: AiSdkWire
}

type SdkMessage = Exclude<LanguageModelV4Message, { role: 'system' }>
type SdkUserPart = Extract<LanguageModelV4Message, { role: 'user' }>['content'][number]
type SdkAssistantPart = Extract<LanguageModelV4Message, { role: 'assistant' }>['content'][number]

/** A neutral request as the prompt of the SDK's model specification. */
export async function toSdkPrompt(request: ModelRequest, context: PromptContext): Promise<LanguageModelV4Message[]> {
  const prompt = toSdkSystem(request.system, context.wire.cacheBoundary)
  const media = await readAllMedia(request, { info: context.info, readsPdf: context.wire.readsPdf })
  for (const message of request.messages) {
    const converted = toSdkMessage(message, media, context)
    if (converted.content.length > 0) prompt.push(converted)
  }
  // Only the newest message carries the mark: a mark that stayed behind would change bytes in the middle of the history.
  const newest = prompt.at(-1)
  if (newest && newest.role !== 'system' && context.wire.cacheBoundary) {
    newest.providerOptions = context.wire.cacheBoundary
  }
  return prompt
}

export function toSdkTools(
  tools: readonly ToolDefinition[],
  options: { wire: AiSdkWire; strictTools: boolean },
): LanguageModelV4FunctionTool[] {
  return tools.map(({ name, description, inputSchema, strict }) => {
    const closed = strict || options.strictTools ? toStrictSchema(inputSchema, options.wire.strictForm) : undefined
    const schema = (closed ?? inputSchema) as LanguageModelV4FunctionTool['inputSchema']
    return { type: 'function', name, description, inputSchema: schema, ...(closed && { strict: true }) }
  })
}

const cachedTiers: readonly CacheTier[] = ['stable', 'semi_stable']

/** One message to a block where the provider marks boundaries; else one in all: many chat templates take no second. */
function toSdkSystem(blocks: SystemBlock[], boundary: SharedV4ProviderOptions | undefined): LanguageModelV4Message[] {
  const sent = blocks
    .map((block) => ({ ...block, text: block.text.toWellFormed() }))
    .filter(({ text }) => text.trim() !== '')
  if (sent.length === 0) return []
  if (!boundary) return [{ role: 'system', content: sent.map(({ text }) => text).join('\n\n') }]
  const ends = new Set(cachedTiers.map((tier) => sent.findLast((block) => block.tier === tier)))
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
  const providerOptions = ownReplay(part.replay, context)
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

function ownReplay(
  replay: Replay | undefined,
  { providerName, wire }: PromptContext,
): { providerOptions?: SharedV4ProviderOptions } {
  if (replay?.provider !== providerName) return {}
  return { providerOptions: { [wire.optionsKey]: replay.metadata } }
}

/**
 * The SDK looks names up in a plain object, and in the place of a tool that a model called `constructor` it would send a
 * property that every object has. There is no such tool; that it was called is told under a name that can be sent.
 */
function sendableName(name: string): string {
  return name in Object.prototype ? `${name}_` : name
}
