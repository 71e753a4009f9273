import type { OpenAiContentPart, OpenAiMessage } from '../../../protocol/openai-api.ts'
import { type ClientList, type ListedContent, type ListedFile, type ListItem, toClientList } from './client-list.ts'
import { encodedFile, listedFile, refuseFileId } from './listed-file.ts'

/** The list of `/v1/chat/completions`. */
export function readMessages(messages: readonly OpenAiMessage[]): ClientList {
  return toClientList(messages.map(toItem), 'messages')
}

function toItem(message: OpenAiMessage, index: number): ListItem {
  const where = `messages.${index}.content`
  switch (message.role) {
    case 'system':
    case 'developer':
      return { kind: 'instructions', text: contentOf(message.content, where).text }
    case 'user':
      return { kind: 'user', content: contentOf(message.content, where) }
    case 'assistant': {
      const calls = (message.tool_calls ?? []).map(({ id, function: called }) => ({ id, ...called }))
      return { kind: 'assistant', text: contentOf(message.content ?? '', where).text, calls }
    }
    case 'tool':
      return { kind: 'result', callId: message.tool_call_id, text: contentOf(message.content, where).text }
  }
}

function contentOf(content: string | readonly OpenAiContentPart[], where: string): ListedContent {
  if (typeof content === 'string') return { text: content, files: [] }
  const texts: string[] = []
  const files: ListedFile[] = []
  for (const [index, part] of content.entries()) {
    if (part.type === 'text') texts.push(part.text)
    else if (part.type === 'refusal') texts.push(part.refusal)
    else files.push(fileOf(part, `${where}.${index}`))
  }
  return { text: texts.join('\n'), files }
}

function fileOf(part: Exclude<OpenAiContentPart, { type: 'text' | 'refusal' }>, where: string): ListedFile {
  switch (part.type) {
    case 'image_url':
      return listedFile(addressIn(part.image_url), { name: 'image', where: `${where}.image_url.url` })
    case 'input_audio':
      return encodedFile(part.input_audio.data, `audio.${part.input_audio.format}`)
    case 'file': {
      const { file_data, filename } = part.file
      return file_data ? encodedFile(file_data, filename ?? 'file') : refuseFileId(`${where}.file`)
    }
  }
}

function addressIn(image: string | { url: string }): string {
  return typeof image === 'string' ? image : image.url
}
