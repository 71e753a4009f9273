import type { AssistantPart, ModelMessage, UserPart } from '../../protocol/message.ts'
import { replayableParts } from '../assistant-parts.ts'
import { type MediaContents, readAllMedia } from '../media-content.ts'
import type { ModelInfo, ModelRequest, SystemBlock } from '../model.ts'
import { toObjectInput } from '../tool-input.ts'

export interface ChatContext {
  info: ModelInfo
  providerName: string
}

type ChatContentPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }

interface ChatToolCall {
  id: string
  type: 'function'
  function: { name: string; arguments: string }
  extra_content?: { google: { thought_signature: string } }
}

export type ChatMessage =
  | { role: 'system'; content: string }
  | { role: 'user'; content: string | ChatContentPart[] }
  | { role: 'assistant'; content: string | null; reasoning_content?: string; tool_calls?: ChatToolCall[] }
  | { role: 'tool'; tool_call_id: string; content: string }

/** A neutral request as the messages of a chat completion. The same history makes the same messages every time. */
export async function toChatMessages(request: ModelRequest, context: ChatContext): Promise<ChatMessage[]> {
  const media = await readAllMedia(request, { info: context.info, readsPdf: false })
  const messages = toSystemMessage(request.system)
  const sources = { provider: context.providerName, media }
  for (const message of request.messages) addMessage(messages, message, sources)
  return messages
}

/** One message in all: many chat templates take no second. */
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
      const content: ChatContentPart[] = []
      for (const part of message.parts) {
        const sent = toContentPart(part, media)
        if (sent) content.push(sent)
      }
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
  const calls: ChatToolCall[] = []
  for (const part of parts) {
    if (part.type === 'text') text += part.text.toWellFormed()
    else if (part.type === 'thinking') thinking += part.text
    else calls.push(toToolCall(part, provider))
  }
  const message: ChatMessage = { role: 'assistant', content: text === '' && calls.length > 0 ? null : text }
  if (thinking !== '') message.reasoning_content = thinking
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
    // Gemini behind a compatible server refuses a call of its own that comes back without this.
    ...(typeof signature === 'string' && { extra_content: { google: { thought_signature: signature } } }),
  }
}
