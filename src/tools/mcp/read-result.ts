import type { CallToolResult } from '@modelcontextprotocol/client'
import { canonicalJson, parseAnyJson } from '../../base/json.ts'
import { toStorableText, truncateText } from '../../base/text.ts'
import type { MediaPart } from '../../protocol/message.ts'
import type { MediaStore } from '../../sessions/media-store.ts'

const mostCharacters = 20_000
const mostImages = 5
const mostImageBytes = 5 * 1024 * 1024
const imageTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

type Content = CallToolResult['content'][number]

/** What a server answered, as text for the model and pictures for the store. What is neither becomes a note. */
export async function readResult(
  result: CallToolResult,
  options: { server: string; putMedia: MediaStore['put'] },
): Promise<{ text: string; media: MediaPart[] }> {
  const texts: string[] = []
  const media: MediaPart[] = []
  for (const part of result.content) {
    const picture = part.type === 'image' && media.length < mostImages ? readPicture(part) : undefined
    if (picture) {
      const name = `${options.server}-${media.length + 1}.${picture.mediaType.slice('image/'.length)}`
      media.push(await options.putMedia({ name, ...picture }))
      texts.push(`[A picture: ${name}]`)
    } else texts.push(describePart(part))
  }
  const structured = structuredText(result.structuredContent, texts)
  const all = [...texts, ...(structured === undefined ? [] : [structured])].filter((text) => text !== '')
  return { text: truncateText(toStorableText(all.join('\n')), mostCharacters), media }
}

function describePart(part: Content): string {
  switch (part.type) {
    case 'text':
      return part.text
    case 'resource':
      return 'text' in part.resource
        ? part.resource.text
        : `[A file that is not shown: ${part.resource.uri} (${part.resource.mimeType ?? 'unknown type'})]`
    case 'resource_link':
      return `[A link: ${part.name} ${part.uri}]`
    default:
      return `[${part.type === 'image' ? 'A picture' : 'A sound'} that is not shown: ${part.mimeType}]`
  }
}

function readPicture(part: Extract<Content, { type: 'image' }>): { mediaType: string; data: Uint8Array } | undefined {
  if (!imageTypes.has(part.mimeType) || part.data.length > mostImageBytes * 1.4) return undefined
  const data = Buffer.from(part.data, 'base64')
  return data.length > 0 && data.length <= mostImageBytes ? { mediaType: part.mimeType, data } : undefined
}

/** Servers say the same once more as text, for clients that know nothing else: then it is not told twice. */
function structuredText(content: unknown, texts: readonly string[]): string | undefined {
  if (content === undefined) return undefined
  const json = canonicalJson(content)
  const isThere = texts.some((text) => {
    const parsed = parseAnyJson(text)
    return parsed.ok && canonicalJson(parsed.value) === json
  })
  return isThere ? undefined : JSON.stringify(content)
}
