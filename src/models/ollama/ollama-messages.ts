import type { ModelMessage } from '../../protocol/message.ts'
import { replayableParts } from '../assistant-parts.ts'
import { type MediaContents, readAllMedia } from '../media-content.ts'
import type { ModelInfo, ModelRequest } from '../model.ts'
import { toObjectInput } from '../tool-input.ts'
import type { OllamaMessage } from './ollama-wire.ts'

export interface OllamaContext {
  info: ModelInfo
  providerName: string
}

/** A neutral request as the messages of Ollama's chat API. */
export async function toOllamaMessages(request: ModelRequest, context: OllamaContext): Promise<OllamaMessage[]> {
  const system = request.system.map(({ text }) => text.trim()).filter((text) => text !== '')
  const messages: OllamaMessage[] = system.length > 0 ? [{ role: 'system', content: system.join('\n\n') }] : []
  const media = await readAllMedia(request, { info: context.info, readsPdf: false })
  for (const message of request.messages) messages.push(...toOllamaMessage(message, media, context))
  return messages
}

function toOllamaMessage(message: ModelMessage, media: MediaContents, context: OllamaContext): OllamaMessage[] {
  switch (message.role) {
    case 'user':
      return [toUserMessage(message, media)]
    case 'assistant':
      return toAssistantMessage(message, context)
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

function toUserMessage({ parts }: Extract<ModelMessage, { role: 'user' }>, media: MediaContents): OllamaMessage {
  const texts: string[] = []
  const images: string[] = []
  for (const part of parts) {
    const content = part.type === 'text' ? part : media.get(part)
    if (content?.type === 'file') images.push(content.base64)
    else if (content) texts.push(content.text)
  }
  return { role: 'user', content: texts.join('\n\n'), ...(images.length > 0 && { images }) }
}

function toAssistantMessage(
  { parts }: Extract<ModelMessage, { role: 'assistant' }>,
  { providerName }: OllamaContext,
): OllamaMessage[] {
  const kept = replayableParts({ parts, provider: providerName, canReplay: () => true })
  if (kept.length === 0) return []
  const calls = kept.filter((part) => part.type === 'tool_call')
  const thinking = joinText(kept, 'thinking')
  return [
    {
      role: 'assistant',
      content: joinText(kept, 'text'),
      ...(thinking !== '' && { thinking }),
      ...(calls.length > 0 && {
        tool_calls: calls.map(({ id, name, input }) => ({ id, function: { name, arguments: toObjectInput(input) } })),
      }),
    },
  ]
}

function joinText(parts: ReturnType<typeof replayableParts>, type: 'text' | 'thinking'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('')
}
