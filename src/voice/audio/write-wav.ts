import type { Sound } from './heard.ts'

const headerBytes = 44

/** One channel of 16 bits, as everything that plays sound can read it. */
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
