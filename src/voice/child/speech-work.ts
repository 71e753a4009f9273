import { join } from 'node:path'
import { writeWav } from '../audio/write-wav.ts'
import { kokoroRate, loadKokoroModel } from '../kokoro/kokoro-model.ts'
import type { ChildWork } from './child-work.ts'

/** Between two sentences; the model brings some silence of its own. */
const pauseSeconds = 0.15

/** `folder` is where all voice files are. */
export async function loadSpeech(folder: string): Promise<ChildWork> {
  const model = await loadKokoroModel(join(folder, 'kokoro-82m'))
  return async (asked, onProgress) => {
    if (asked.type !== 'speak') return { type: 'failed', reason: 'This process speaks.' }
    const pieces: Float32Array[] = []
    for (const sentence of asked.sentences) {
      if (pieces.length > 0) pieces.push(new Float32Array(kokoroRate * pauseSeconds))
      pieces.push(await model.speak(sentence, asked.voice))
      onProgress()
    }
    return { type: 'spoken', wav: writeWav({ samples: joined(pieces), rate: kokoroRate }) }
  }
}

function joined(pieces: readonly Float32Array[]): Float32Array {
  const samples = new Float32Array(pieces.reduce((sum, piece) => sum + piece.length, 0))
  let at = 0
  for (const piece of pieces) {
    samples.set(piece, at)
    at += piece.length
  }
  return samples
}
