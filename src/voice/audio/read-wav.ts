import { type Heard, longestSeconds, tooLong, unreadable } from './heard.ts'

interface Format {
  /** 1: whole numbers; 3: floating point. */
  code: number
  channels: number
  rate: number
  bits: number
}

const extensible = 0xfffe

/** A WAV file of any rate, 8 to 32 bits or floating point; several channels become one. Never throws. */
export function readWav(data: Uint8Array): Heard {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  if (wordAt(data, 0) !== 'RIFF' || wordAt(data, 8) !== 'WAVE') return unreadable('This is no WAV file.')
  let format: Format | undefined
  for (let at = 12; at + 8 <= data.length; ) {
    const name = wordAt(data, at)
    // Programs that write into a pipe do not know the size beforehand and say any number.
    const size = Math.min(view.getUint32(at + 4, true), data.length - at - 8)
    if (name === 'fmt ') {
      if (size < 16) return unreadable('The WAV file is damaged.')
      format = readFormat(view, at + 8, size)
    } else if (name === 'data') {
      if (!format) return unreadable('The WAV file is damaged.')
      return readSamples(new DataView(data.buffer, data.byteOffset + at + 8, size), format)
    }
    at += 8 + size + (size % 2)
  }
  return unreadable('The WAV file holds no sound.')
}

function readFormat(view: DataView, at: number, size: number): Format {
  const code = view.getUint16(at, true)
  return {
    // The long form of the header says at its end what the samples are.
    code: code === extensible && size >= 26 ? view.getUint16(at + 24, true) : code,
    channels: view.getUint16(at + 2, true),
    rate: view.getUint32(at + 4, true),
    bits: view.getUint16(at + 14, true),
  }
}

function readSamples(view: DataView, { code, channels, rate, bits }: Format): Heard {
  const read = readers[`${code}:${bits}`]
  if (!read) return unreadable(`WAV files of this kind (format ${code}, ${bits} bits) cannot be read.`)
  if (channels < 1 || channels > 8) return unreadable(`WAV files with ${channels} channels cannot be read.`)
  if (rate < 4_000 || rate > 384_000) return unreadable(`WAV files with ${rate} samples a second cannot be read.`)
  const bytes = bits / 8
  const length = Math.floor(view.byteLength / (bytes * channels))
  if (length > longestSeconds * rate) return tooLong()
  const samples = new Float32Array(length)
  for (let index = 0; index < length; index += 1) {
    let sum = 0
    for (let channel = 0; channel < channels; channel += 1) sum += read(view, (index * channels + channel) * bytes)
    const sample = sum / channels
    // A floating-point file may hold anything, also what is no number.
    samples[index] = sample >= -1 && sample <= 1 ? sample : Math.sign(sample) || 0
  }
  return { ok: true, sound: { samples, rate } }
}

const readers: Record<string, (view: DataView, at: number) => number> = {
  '1:8': (view, at) => (view.getUint8(at) - 128) / 128,
  '1:16': (view, at) => view.getInt16(at, true) / 2 ** 15,
  '1:24': (view, at) => (view.getInt16(at + 1, true) * 256 + view.getUint8(at)) / 2 ** 23,
  '1:32': (view, at) => view.getInt32(at, true) / 2 ** 31,
  '3:32': (view, at) => view.getFloat32(at, true),
  '3:64': (view, at) => view.getFloat64(at, true),
}

function wordAt(data: Uint8Array, at: number): string {
  return String.fromCharCode(...data.subarray(at, at + 4))
}
