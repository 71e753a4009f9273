const headerBytes = 44

/** Sound of one channel as a file that every listener can read. */
export function toWav(samples: Float32Array, rate: number): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(headerBytes + samples.length * 2))
  const write = (place: number, word: string) => {
    for (const [index, letter] of [...word].entries()) view.setUint8(place + index, letter.charCodeAt(0))
  }
  write(0, 'RIFF')
  view.setUint32(4, view.byteLength - 8, true)
  write(8, 'WAVEfmt ')
  view.setUint32(16, 16, true)
  view.setUint16(20, 1, true)
  view.setUint16(22, 1, true)
  view.setUint32(24, rate, true)
  view.setUint32(28, rate * 2, true)
  view.setUint16(32, 2, true)
  view.setUint16(34, 16, true)
  write(36, 'data')
  view.setUint32(40, samples.length * 2, true)
  for (const [index, sample] of samples.entries()) {
    view.setInt16(headerBytes + index * 2, Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), true)
  }
  return new Uint8Array(view.buffer)
}
