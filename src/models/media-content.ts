import type { MediaPart } from '../protocol/message.ts'
import type { ModelInfo, ModelRequest } from './model.ts'

/** What becomes of an attachment: its bytes, or a line of text that says why they are not there. */
type MediaContent = { type: 'file'; mediaType: string; name: string; base64: string } | { type: 'note'; text: string }

const pictureTypes = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])

/** What each attachment of a conversation becomes. */
export type MediaContents = ReadonlyMap<MediaPart, MediaContent>

/** Reads the bytes only where the model is sent them. A file that cannot be read becomes a note, never an error. */
export async function readAllMedia(
  { messages, loadMedia }: Pick<ModelRequest, 'messages' | 'loadMedia'>,
  options: { info: ModelInfo; readsPdf: boolean },
): Promise<MediaContents> {
  const contents = new Map<MediaPart, MediaContent>()
  for (const message of messages) {
    if (message.role !== 'user') continue
    for (const part of message.parts) {
      if (part.type === 'media') contents.set(part, await readMedia(part, { ...options, loadMedia }))
    }
  }
  return contents
}

async function readMedia(
  part: MediaPart,
  options: { info: ModelInfo; readsPdf: boolean; loadMedia: ModelRequest['loadMedia'] },
): Promise<MediaContent> {
  const { info, readsPdf, loadMedia } = options
  const reason = whyNotSent(part, info, readsPdf)
  if (reason) return note(part, reason)
  try {
    const bytes = await loadMedia(part.hash)
    const base64 = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64')
    return { type: 'file', mediaType: part.mediaType, name: part.name, base64 }
  } catch {
    return note(part, 'its file is missing')
  }
}

function whyNotSent({ mediaType }: MediaPart, info: ModelInfo, readsPdf: boolean): string | undefined {
  const isPicture = mediaType.startsWith('image/')
  if (isPicture && !info.supportsVision) return 'this model cannot see images'
  if (isPicture && !pictureTypes.has(mediaType)) return `models cannot read ${mediaType}`
  if (isPicture || (mediaType === 'application/pdf' && readsPdf && info.supportsVision)) return undefined
  return 'this model cannot read such files'
}

function note({ name, mediaType, bytes }: MediaPart, reason: string): MediaContent {
  return { type: 'note', text: `[Attached: ${name} (${mediaType}, ${bytes} bytes). Not shown: ${reason}.]` }
}
