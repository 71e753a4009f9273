import { type Heard, unreadable } from './heard.ts'
import { type DecodeOpus, readOpus } from './read-opus.ts'
import { readWav } from './read-wav.ts'

/** What a recording is, by its first bytes: what others say of it is often wrong. */
export function kindOfRecording(data: Uint8Array): 'wav' | 'ogg' | 'other' {
  const begin = String.fromCharCode(...data.subarray(0, 4))
  return begin === 'RIFF' ? 'wav' : begin === 'OggS' ? 'ogg' : 'other'
}

/** `decodeOpus` is null where no decoder is installed. Never throws for what the recording holds. */
export async function readRecording(data: Uint8Array, decodeOpus: DecodeOpus | null): Promise<Heard> {
  switch (kindOfRecording(data)) {
    case 'wav':
      return readWav(data)
    case 'ogg':
      return decodeOpus
        ? readOpus(data, decodeOpus)
        : unreadable('The decoder for OGG voice notes is not installed: familiar voice install --transcription')
    case 'other':
      return unreadable('Only WAV and OGG (Opus) can be read. With ffmpeg installed, MP3, M4A and others can be, too.')
  }
}
