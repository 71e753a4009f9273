import { join } from 'node:path'
import { InferenceSession, Tensor } from 'onnxruntime-node'
import { readBytes } from '../../base/files.ts'
import sounds from './kokoro-sounds.json' with { type: 'json' }
import type { Sound } from './recordings.ts'
import type { ChildWork } from './speech.ts'
import { kokoroFiles, usualVoice } from './voice-parts.ts'

/** Between two sentences; the model adds some silence of its own. */
const pauseSeconds = 0.15

export async function loadSpeech(folder: string): Promise<ChildWork> {
  const speak = await loadKokoroModel(join(folder, 'kokoro-82m'))
  return async (asked, { onProgress, isCanceled }) => {
    if (asked.type === 'warm') {
      await speak('hˈaɪ.', usualVoice)
      return { type: 'warm' }
    }
    if (asked.type !== 'speak') return { type: 'failed', reason: 'This process speaks.' }
    const pieces: Float32Array[] = []
    for (const sentence of asked.sentences) {
      if (isCanceled()) return { type: 'failed', reason: 'Canceled.' }
      if (pieces.length > 0) pieces.push(new Float32Array(kokoroRate * pauseSeconds))
      pieces.push(await speak(sentence, asked.voice))
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

const headerBytes = 44

/** One channel of 16 bits, which every player supports. */
export function writeWav({ samples, rate }: Sound): Uint8Array {
  const bytes = samples.length * 2
  const data = new Uint8Array(headerBytes + bytes)
  const view = new DataView(data.buffer)
  const putWord = (at: number, word: string) =>
    data.set(
      [...word].map((letter) => letter.charCodeAt(0)),
      at,
    )
  putWord(0, 'RIFF')
  view.setUint32(4, headerBytes - 8 + bytes, true)
  putWord(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, rate * 2, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  putWord(36, 'data')
  view.setUint32(40, bytes, true)
  for (const [index, sample] of samples.entries()) {
    view.setInt16(headerBytes + index * 2, Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), true)
  }
  return data
}

/** The model's numbers for sounds and marks. */
export const phonemeNumbers: ReadonlyMap<string, number> = new Map(Object.entries(sounds))

const kokoroRate = 24_000
/** The model's limit, in addition to the two marks around them. */
const maxPhonemes = 510
const styleSize = 256

/** Kokoro-82M in this process: some 400 MB. Throws if a file is missing or has unexpected content. */
async function loadKokoroModel(folder: string) {
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
    // A voice has a style for every sentence length.
    const at = Math.min(length, maxPhonemes - 1) * styleSize
    return styles.slice(at, at + styleSize)
  }

  /** One sentence, at 24,000 samples a second. Unknown phonemes are dropped. */
  return async (phonemes: string, voice: string): Promise<Float32Array> => {
    const known = [...phonemes].flatMap((letter) => phonemeNumbers.get(letter) ?? []).slice(0, maxPhonemes)
    const tokens = BigInt64Array.from([0, ...known, 0], BigInt)
    const { waveform } = await session.run({
      input_ids: new Tensor('int64', tokens, [1, tokens.length]),
      style: new Tensor('float32', await styleOf(voice, known.length), [1, styleSize]),
      speed: new Tensor('float32', Float32Array.of(1), [1]),
    })
    if (!waveform) throw new Error('The model returned no waveform')
    return waveform.data
  }
}
