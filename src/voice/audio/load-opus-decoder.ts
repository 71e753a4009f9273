import { compileFunction } from 'node:vm'
import type { DecodeOpus } from './read-opus.ts'

/** What we use of the package `opus-decoder`. */
interface OpusDecoder {
  ready: Promise<void>
  decodeFrames(packets: readonly Uint8Array[]): { channelData: Float32Array[] }
  free(): void
}

type Exports = { OpusDecoder?: new (options: { sampleRate: number; channels: number }) => OpusDecoder }

/** libopus in WebAssembly. `code` is the package's one file for browsers, which must have been checked: it is run here. */
export function loadOpusDecoder(code: string): DecodeOpus {
  const exports: Exports = {}
  // It also brings a worker that nobody uses here, and wants a class to extend.
  const modules = () => class {}
  compileFunction(code, ['exports', 'module', 'require'])(exports, { exports }, modules)
  const Decoder = exports.OpusDecoder
  if (!Decoder) throw new Error('The Opus decoder is not what was expected')
  return async (packets, { channels, rate }) => {
    const decoder = new Decoder({ sampleRate: rate, channels })
    await decoder.ready
    try {
      return decoder.decodeFrames(packets).channelData
    } finally {
      decoder.free()
    }
  }
}
