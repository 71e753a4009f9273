import { foreignLine } from '../../../tools/builtin/foreign-text.ts'
import type { TelegramMessage } from './telegram-update.ts'

/** Telegram gives a bot no larger file. */
export const largestFileBytes = 20 * 1024 * 1024

/** A file that a message brings, before it is fetched. */
export interface AttachedFile {
  fileId: string
  /** What it is called in a sentence: `photo`, `voice message`. */
  what: string
  name: string
  mediaType: string
  /** As Telegram tells; it may not. */
  bytes: number | undefined
  /** Of a recording that is to be written down. */
  isSpoken: boolean
  seconds: number | undefined
}

type Given = {
  file_id: string
  file_size?: number | undefined
  mime_type?: string | undefined
  file_name?: string | undefined
  duration?: number | undefined
}

/** The files of a message; of a photo the largest of its sizes that may be fetched. */
export function attachedFiles(message: TelegramMessage): AttachedFile[] {
  const { message_id: number, photo, document, video, animation, audio, voice, video_note } = message
  const size = photo
    ?.filter(({ file_size }) => (file_size ?? 0) <= largestFileBytes)
    .toSorted((a, b) => b.width * b.height - a.width * a.height)[0]
  const kinds: [Given | undefined, { what: string; ending: string; mediaType: string; isSpoken?: true }][] = [
    [size ?? photo?.[0], { what: 'photo', ending: 'jpg', mediaType: 'image/jpeg' }],
    // An animation comes as a document as well, for older programs.
    [animation ? undefined : document, { what: 'document', ending: 'bin', mediaType: 'application/octet-stream' }],
    [video, { what: 'video', ending: 'mp4', mediaType: 'video/mp4' }],
    [animation, { what: 'animation', ending: 'mp4', mediaType: 'video/mp4' }],
    [audio, { what: 'audio', ending: 'mp3', mediaType: 'audio/mpeg' }],
    [voice, { what: 'voice message', ending: 'ogg', mediaType: 'audio/ogg', isSpoken: true }],
    [video_note, { what: 'video message', ending: 'mp4', mediaType: 'video/mp4' }],
  ]
  return kinds.flatMap(([given, { what, ending, mediaType, isSpoken }]) =>
    given === undefined
      ? []
      : {
          fileId: given.file_id,
          what,
          name: plainName(given.file_name) || `${what.replaceAll(' ', '-')}-${number}.${ending}`,
          mediaType: plainType(given.mime_type) ?? mediaType,
          bytes: given.file_size,
          isSpoken: isSpoken === true,
          seconds: given.duration,
        },
  )
}

/** Shown and stored, never a path. */
function plainName(name: string | undefined): string {
  return foreignLine(name?.split(/[/\\]/).at(-1) ?? '', 120)
}

function plainType(type: string | undefined): string | undefined {
  const plain = type?.toLowerCase().split(';')[0]?.trim()
  return plain && /^[a-z0-9][a-z0-9.+-]{0,60}\/[a-z0-9][a-z0-9.+-]{0,80}$/.test(plain) ? plain : undefined
}
