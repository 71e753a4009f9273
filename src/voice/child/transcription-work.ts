import { join } from 'node:path'
import { findOpusDecoder } from '../audio/find-opus-decoder.ts'
import { secondsOf } from '../audio/heard.ts'
import { readRecording } from '../audio/read-recording.ts'
import { resample } from '../audio/resample.ts'
import { whisperRate } from '../whisper/mel-features.ts'
import { loadWhisperModel } from '../whisper/whisper-model.ts'
import type { ChildWork } from './child-work.ts'

/** `folder` is where all voice files are. */
export async function loadTranscription(folder: string): Promise<ChildWork> {
  const model = await loadWhisperModel(join(folder, 'whisper-tiny'))
  const decodeOpus = await findOpusDecoder(join(folder, 'opus-decoder'))
  return async (asked, onProgress) => {
    if (asked.type !== 'transcribe') return { type: 'failed', reason: 'This process writes down.' }
    const heard = await readRecording(asked.recording, decodeOpus)
    if (!heard.ok) return { type: 'failed', reason: heard.reason }
    const { samples } = resample(heard.sound, whisperRate)
    const { text } = await model.transcribe(samples, onProgress)
    return { type: 'transcribed', text, seconds: secondsOf(heard.sound) }
  }
}
