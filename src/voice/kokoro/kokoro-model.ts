import { join } from 'node:path'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { readBytes } from '../../base/read-bytes.ts'
import { kokoroFiles } from './kokoro-files.ts'
import { phonemeNumbers } from './phoneme-numbers.ts'

/** Kokoro-82M in this process: some 400 MB. */
export interface KokoroModel {
  /** One sentence, at 24,000 samples a second. What the model does not know of the phonemes is left out. */
  speak(phonemes: string, voice: string): Promise<Float32Array>
}

export const kokoroRate = 24_000
/** The model reads this many at most, beside the two marks around them. */
const mostPhonemes = 510
const styleSize = 256

/** Throws where a file is missing or is not what it should be. */
export async function loadKokoroModel(folder: string): Promise<KokoroModel> {
  const voices = new Map<string, Float32Array>()
  const session = await InferenceSession.create(join(folder, kokoroFiles.weights), {
    intraOpNumThreads: 2,
    interOpNumThreads: 1,
    logSeverityLevel: 3,
  })

  async function styleOf(voice: string, length: number): Promise<Float32Array> {
    let styles = voices.get(voice)
    if (!styles) {
      const bytes = await readBytes(join(folder, `${voice}.bin`))
      styles = new Float32Array(Uint8Array.from(bytes).buffer)
      voices.set(voice, styles)
    }
    // A voice has a style for every length of sentence.
    const at = Math.min(length, mostPhonemes - 1) * styleSize
    return styles.slice(at, at + styleSize)
  }

  return {
    async speak(phonemes, voice) {
      const known = [...phonemes].flatMap((letter) => phonemeNumbers.get(letter) ?? []).slice(0, mostPhonemes)
      const tokens = BigInt64Array.from([0, ...known, 0], BigInt)
      const { waveform } = await session.run({
        input_ids: new Tensor('int64', tokens, [1, tokens.length]),
        style: new Tensor('float32', await styleOf(voice, known.length), [1, styleSize]),
        speed: new Tensor('float32', Float32Array.of(1), [1]),
      })
      if (!waveform) throw new Error('The model gave no waveform')
      return waveform.data
    },
  }
}
