import { setImmediate } from 'node:timers/promises'

/** The type of a recording by its first bytes: declared types are often wrong. */
export function kindOfRecording(data: Uint8Array): 'wav' | 'ogg' | 'other' {
  const begin = wordAt(data, 0)
  return begin === 'RIFF' ? 'wav' : begin === 'OggS' ? 'ogg' : 'other'
}

/** `decodeOpus` is null if no decoder is installed. Never throws because of the recording's content. */
export async function readRecording(data: Uint8Array, decodeOpus: DecodeOpus | null): Promise<Heard> {
  switch (kindOfRecording(data)) {
    case 'wav':
      return readWav(data)
    case 'ogg':
      return decodeOpus
        ? readOpus(data, decodeOpus)
        : unreadable('The decoder for OGG voice notes is not installed: familiar voice install --transcription')
    case 'other':
      return unreadable('Only WAV and OGG (Opus) can be read. Install ffmpeg to read MP3, M4A and others.')
  }
}

/** Sound as one channel of samples from -1 to 1. */
export interface Sound {
  samples: Float32Array
  /** Samples a second. */
  rate: number
}

/** The sound of a recording, or an error for the user. */
type Heard = { ok: true; sound: Sound } | { ok: false; reason: string }

/** Longer recordings are rejected: an hour would keep the machine busy for as long. */
export const maxSeconds = 10 * 60

export function secondsOf({ samples, rate }: Sound): number {
  return samples.length / rate
}

const tooLong = unreadable(`The recording is longer than ${maxSeconds / 60} minutes.`)

function unreadable(reason: string): { ok: false; reason: string } {
  return { ok: false, reason }
}

const headerBytes = 27
const continued = 1
const first = 2
/** A page in which no packet ends has no position. */
const noPlace = 0xffff_ffff_ffff_ffffn

/**
 * The packets of the first stream in an Ogg file, read page by page while they are complete: a truncated upload is read
 * to that point. Undefined if there is no stream. `lastGranule` is the position after the last sample, from the last
 * complete page; null if there is none. Never throws.
 */
export function readOgg(data: Uint8Array) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const packets: Uint8Array[] = []
  let serial: number | undefined
  let lastGranule: number | null = null
  let begun: Uint8Array[] = []
  for (let at = 0; at + headerBytes <= data.length; ) {
    const page = pageAt(view, data, at)
    if (!page) break
    at = page.end
    if (serial === undefined && page.flags & first) serial = page.serial
    // Pages of other streams may be in between.
    if (page.serial !== serial) continue
    if (!(page.flags & continued)) begun = []
    for (const { part, isLast } of page.parts) {
      begun.push(part)
      if (!isLast) continue
      packets.push(begun.length === 1 ? part : Buffer.concat(begun))
      begun = []
    }
    if (page.granule !== noPlace) lastGranule = Number(page.granule)
  }
  return serial === undefined ? undefined : { packets, lastGranule }
}

/** Undefined if no complete and valid page begins there. */
function pageAt(view: DataView, data: Uint8Array, at: number) {
  if (view.getUint32(at, false) !== 0x4f67_6753 || view.getUint8(at + 4) !== 0) return undefined
  const count = view.getUint8(at + 26)
  const bodyAt = at + headerBytes + count
  const sizes = data.subarray(at + headerBytes, bodyAt)
  const end = sizes.reduce((sum, size) => sum + size, bodyAt)
  if (sizes.length !== count || end > data.length) return undefined
  if (checksum(data.subarray(at, end)) !== view.getUint32(at + 22, true)) return undefined
  // Pieces of packets; one that is not the last continues in the next page.
  const parts: { part: Uint8Array; isLast: boolean }[] = []
  let from = bodyAt
  let until = bodyAt
  for (const [index, size] of sizes.entries()) {
    until += size
    // A full segment is followed by more of the same packet.
    const isLast = size < 255
    if (!isLast && index < sizes.length - 1) continue
    parts.push({ part: data.subarray(from, until), isLast })
    from = until
  }
  return {
    flags: view.getUint8(at + 5),
    granule: view.getBigUint64(at + 6, true),
    serial: view.getUint32(at + 14, true),
    parts,
    end,
  }
}

const checksums = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index << 24
  for (let bit = 0; bit < 8; bit += 1) value = (value << 1) ^ (value < 0 ? 0x04c1_1db7 : 0)
  return value >>> 0
})

/** Ogg's checksum, computed with its own field set to zero. */
export function checksum(page: Uint8Array): number {
  let value = 0
  for (const [index, byte] of page.entries()) {
    const read = index >= 22 && index < 26 ? 0 : byte
    value = ((value << 8) ^ (checksums[(value >>> 24) ^ read] ?? 0)) >>> 0
  }
  return value
}

/** Decodes Opus packets, one array per channel, at the requested rate. */
export type DecodeOpus = (
  packets: readonly Uint8Array[],
  format: { channels: number; rate: number },
) => Promise<Float32Array[]>

/** The model's sample rate, which the decoder can output directly. */
const rate = 16_000
/** Opus counts positions at this rate, whatever the real one. */
const countedRate = 48_000
/** The decoder's buffer size. */
const maxPacketLength = 3_840

/** A voice note in Ogg and Opus, as from Telegram and browsers. Throws only errors of `decode`. */
export async function readOpus(data: Uint8Array, decode: DecodeOpus): Promise<Heard> {
  const stream = readOgg(data)
  const [head, tags, ...packets] = stream?.packets ?? []
  if (!head || !tags || wordAt(head, 0, 8) !== 'OpusHead' || head.length < 19) {
    return unreadable('The OGG file contains no Opus audio.')
  }
  const channels = head[9] ?? 0
  if (channels < 1 || channels > 2 || head[18] !== 0)
    return unreadable('OGG files with this many channels cannot be read.')
  const seconds = packets.reduce((sum, packet) => sum + secondsIn(packet), 0)
  if (seconds > maxSeconds) return tooLong
  const sound = packets.filter((packet) => packet.length > 0 && packet.length <= maxPacketLength)
  const decoded = await decode(sound, { channels, rate })
  const skipped = (head[10] ?? 0) + (head[11] ?? 0) * 256
  return { ok: true, sound: trimmed(mixed(decoded), { skipped, lastGranule: stream?.lastGranule ?? null }) }
}

function mixed(channels: readonly Float32Array[]): Float32Array {
  const [left = new Float32Array(), right] = channels
  return right ? left.map((sample, index) => (sample + (right[index] ?? 0)) / 2) : left
}

/** Without the decoder's pre-skip and the padding of the last packet. */
function trimmed(samples: Float32Array, ends: { skipped: number; lastGranule: number | null }): Sound {
  const from = Math.round((ends.skipped * rate) / countedRate)
  const until = ends.lastGranule === null ? samples.length : Math.round((ends.lastGranule * rate) / countedRate)
  return { samples: samples.slice(from, Math.max(from, until)), rate }
}

/** The first byte gives the length of a frame and, with the second, their number. */
function secondsIn(packet: Uint8Array): number {
  const [kind = 0, count = 0] = packet
  const size = kind >> 3
  const frameMs =
    size < 12 ? ([10, 20, 40, 60][size % 4] ?? 0) : size < 16 ? ([10, 20][size % 2] ?? 0) : 2.5 * 2 ** (size % 4)
  const frames = kind % 4 === 0 ? 1 : kind % 4 === 3 ? count % 64 : 2
  return (frameMs * frames) / 1_000
}

const extensible = 0xfffe

/** A WAV file of any rate, 8 to 32 bits or floating point; channels are mixed to one. Never throws. */
export function readWav(data: Uint8Array): Heard {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  if (wordAt(data, 0) !== 'RIFF' || wordAt(data, 8) !== 'WAVE') return unreadable('This is not a WAV file.')
  let format: ReturnType<typeof readFormat> | undefined
  for (let at = 12; at + 8 <= data.length; ) {
    const name = wordAt(data, at)
    // Programs that write to a pipe do not know the size and declare any number.
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
  return unreadable('The WAV file contains no audio.')
}

function readFormat(view: DataView, at: number, size: number) {
  const code = view.getUint16(at, true)
  return {
    // 1: whole numbers; 3: floating point. The extended header gives it at its end.
    code: code === extensible && size >= 26 ? view.getUint16(at + 24, true) : code,
    channels: view.getUint16(at + 2, true),
    rate: view.getUint32(at + 4, true),
    bits: view.getUint16(at + 14, true),
  }
}

function readSamples(view: DataView, { code, channels, rate, bits }: ReturnType<typeof readFormat>): Heard {
  const read = readers[`${code}:${bits}`]
  if (!read) return unreadable(`WAV files of this type (format ${code}, ${bits} bits) cannot be read.`)
  if (channels < 1 || channels > 8) return unreadable(`WAV files with ${channels} channels cannot be read.`)
  if (rate < 4_000 || rate > 384_000) return unreadable(`WAV files with ${rate} samples a second cannot be read.`)
  const bytes = bits / 8
  const length = Math.floor(view.byteLength / (bytes * channels))
  if (length > maxSeconds * rate) return tooLong
  const samples = new Float32Array(length)
  for (let index = 0; index < length; index += 1) {
    let sum = 0
    for (let channel = 0; channel < channels; channel += 1) sum += read(view, (index * channels + channel) * bytes)
    const sample = sum / channels
    // A floating-point file may contain any value, including NaN.
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

function wordAt(data: Uint8Array, at: number, length = 4): string {
  return String.fromCharCode(...data.subarray(at, at + length))
}

/** How many zero crossings of the ideal filter are kept on each side. */
const reach = 24
/** Slightly below half the rate, to leave space for the transition band. */
const passed = 0.94

/** Resamples by a windowed sinc: nothing above the new limit is aliased. */
export function resample({ samples, rate }: Sound, wanted: number): Sound {
  if (rate === wanted) return { samples, rate }
  const divisor = greatestDivisor(rate, wanted)
  const up = wanted / divisor
  const down = rate / divisor
  const cutoff = passed * Math.min(1, wanted / rate)
  const half = Math.ceil(reach / cutoff)
  // The positions between two samples repeat after `up` of them, and so do the weights.
  const weights: Float32Array[] = []
  const output = new Float32Array(Math.floor((samples.length * up) / down))
  for (let index = 0; index < output.length; index += 1) {
    const phase = (index * down) % up
    const center = (index * down - phase) / up
    weights[phase] ??= weightsAt(phase / up, { half, cutoff })
    output[index] = weighted(samples, center - half + 1, weights[phase])
  }
  return { samples: output, rate: wanted }
}

function weighted(samples: Float32Array, from: number, weights: Float32Array): number {
  let sum = 0
  const begin = Math.max(0, -from)
  const end = Math.min(weights.length, samples.length - from)
  for (let tap = begin; tap < end; tap += 1) sum += (samples[from + tap] ?? 0) * (weights[tap] ?? 0)
  return sum
}

function weightsAt(offset: number, { half, cutoff }: { half: number; cutoff: number }): Float32Array {
  const weights = Float32Array.from({ length: half * 2 }, (_, tap) => {
    const distance = tap - half + 1 - offset
    const x = Math.PI * distance * cutoff
    const sinc = distance === 0 ? 1 : Math.sin(x) / x
    const share = distance / half
    // Blackman's window.
    return sinc * (0.42 + 0.5 * Math.cos(Math.PI * share) + 0.08 * Math.cos(2 * Math.PI * share))
  })
  // Preserves a constant level.
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map((weight) => weight / sum)
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b)
}

const noteRate = 48_000
/** The encoder declares this many samples as not to be played. */
const preSkip = 3_840

/**
 * A WAV recording as a voice note: Ogg with Opus, which phones and messengers play. Null for other recordings. In parts of a
 * second, so that nothing else waits for the whole of it.
 */
export async function toVoiceNote(wav: Uint8Array): Promise<Uint8Array | null> {
  const heard = readWav(wav)
  if (!heard.ok) return null
  const { default: createEncoder } = await import('@audio/encode-opus')
  const { samples } = resample(heard.sound, noteRate)
  const padded = new Float32Array(preSkip + samples.length)
  padded.set(samples, preSkip)
  const encoder = await createEncoder({ sampleRate: noteRate, channels: 1, bitrate: 32, application: 'voip' })
  try {
    const pages: Uint8Array[] = []
    for (let from = 0; from < padded.length; from += noteRate) {
      pages.push(encoder.encode([padded.subarray(from, from + noteRate)]))
      await setImmediate()
    }
    return Buffer.concat([...pages, encoder.flush()])
  } finally {
    encoder.free()
  }
}
