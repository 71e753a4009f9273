import type {
  OpenAiResponseRequest,
  ResponseContentPart,
  ResponseItem,
} from '../../../protocol/openai-responses-api.ts'
import { type ClientList, type ListedContent, type ListedFile, type ListItem, toClientList } from './client-list.ts'
import { encodedFile, listedFile, refuseFileId } from './listed-file.ts'

/** The input of `/v1/responses`: one message, or a list. */
export function readInput({ input, instructions }: OpenAiResponseRequest): ClientList {
  const items = typeof input === 'string' ? [userText(input)] : input.flatMap(toItems)
  const first: ListItem[] = instructions ? [{ kind: 'instructions', text: instructions }] : []
  return toClientList([...first, ...items], 'input')
}

function userText(text: string): ListItem {
  return { kind: 'user', content: { text, files: [] } }
}

function toItems(item: ResponseItem, index: number): ListItem[] {
  const where = `input.${index}`
  switch (item.type) {
    case 'reasoning':
      return []
    case 'function_call': {
      const { call_id: id, name, arguments: given } = item
      return [{ kind: 'assistant', text: '', calls: [{ id, name, arguments: given }] }]
    }
    case 'function_call_output':
      return [{ kind: 'result', callId: item.call_id, text: contentOf(item.output, `${where}.output`).text }]
    case 'message': {
      const content = contentOf(item.content, `${where}.content`)
      if (item.role === 'user') return [{ kind: 'user', content }]
      if (item.role === 'assistant') return [{ kind: 'assistant', text: content.text, calls: [] }]
      return [{ kind: 'instructions', text: content.text }]
    }
  }
}

function contentOf(content: string | readonly ResponseContentPart[], where: string): ListedContent {
  if (typeof content === 'string') return { text: content, files: [] }
  const texts: string[] = []
  const files: ListedFile[] = []
  for (const [index, part] of content.entries()) {
    if (part.type === 'input_text' || part.type === 'output_text') texts.push(part.text)
    else if (part.type === 'refusal') texts.push(part.refusal)
    else files.push(fileOf(part, `${where}.${index}`))
  }
  return { text: texts.join('\n'), files }
}

function fileOf(part: Extract<ResponseContentPart, { type: 'input_image' | 'input_file' }>, where: string): ListedFile {
  if (part.type === 'input_image') {
    if (part.image_url) return listedFile(part.image_url, { name: 'image', where: `${where}.image_url` })
    return refuseFileId(where)
  }
  const name = part.filename ?? 'file'
  if (part.file_data) return encodedFile(part.file_data, name)
  return part.file_url ? listedFile(part.file_url, { name, where: `${where}.file_url` }) : refuseFileId(where)
}
