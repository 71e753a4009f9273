import type { MediaPart } from '../../../protocol/message.ts'

type FileKind = 'photo' | 'voice' | 'audio' | 'document'

const photoTypes = ['image/jpeg', 'image/png', 'image/webp']
const audioTypes = ['audio/mpeg', 'audio/mp4', 'audio/x-m4a', 'audio/aac']
const megabyte = 1_000_000

/** As what Telegram shows a file best; undefined where it is larger than a bot may send. */
export function mediaKind({ mediaType, bytes }: Pick<MediaPart, 'mediaType' | 'bytes'>): FileKind | undefined {
  const type = mediaType.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (bytes > 49 * megabyte) return undefined
  if (photoTypes.includes(type) && bytes <= 9 * megabyte) return 'photo'
  if (type === 'audio/ogg') return 'voice'
  return audioTypes.includes(type) ? 'audio' : 'document'
}
