import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { makeTone, makeToneWav } from '../../../test/support/made-sound.ts'
import { readWav } from './recordings.ts'

/** A WAV file with one channel's samples in every channel, as `put` writes them. */
function makeWav(options: {
  format: number
  bits: number
  channels: number
  samples: Float32Array
  rate?: number
  long?: boolean
  put(view: DataView, at: number, sample: number): void
}): Uint8Array {
  const { format, bits, channels, samples, rate = 8_000, long = false, put } = options
  const headerBytes = long ? 40 : 16
  const data = new Uint8Array(28 + headerBytes + (samples.length * channels * bits) / 8)
  const view = new DataView(data.buffer)
  data.set(Buffer.from('RIFF'), 0)
  data.set(Buffer.from('WAVEfmt '), 8)
  view.setUint32(16, headerBytes, true)
  view.setUint16(20, long ? 0xfffe : format, true)
  view.setUint16(22, channels, true)
  view.setUint32(24, rate, true)
  view.setUint16(34, bits, true)
  if (long) view.setUint16(44, format, true)
  data.set(Buffer.from('data'), 20 + headerBytes)
  view.setUint32(24 + headerBytes, data.length - 28 - headerBytes, true)
  for (const [index, sample] of samples.entries()) {
    for (let channel = 0; channel < channels; channel += 1) {
      put(view, 28 + headerBytes + ((index * channels + channel) * bits) / 8, sample)
    }
  }
  return data
}

const tone = makeTone({ hertz: 440, rate: 8_000, seconds: 0.1 })

describe('WAV files', () => {
  it.each([
    ['8 bits', 1, 8, (view: DataView, at: number, s: number) => view.setUint8(at, Math.round(s * 127 + 128)), 0.01],
    ['16 bits', 1, 16, (view: DataView, at: number, s: number) => view.setInt16(at, s * 32_767, true), 0.001],
    [
      '24 bits',
      1,
      24,
      (view: DataView, at: number, s: number) => {
        const whole = Math.round(s * 8_388_607)
        view.setUint8(at, whole & 255)
        view.setInt16(at + 1, whole >> 8, true)
      },
      1e-5,
    ],
    ['32 bits', 1, 32, (view: DataView, at: number, s: number) => view.setInt32(at, s * 2_147_483_647, true), 1e-6],
    ['floats', 3, 32, (view: DataView, at: number, s: number) => view.setFloat32(at, s, true), 1e-7],
    ['long floats', 3, 64, (view: DataView, at: number, s: number) => view.setFloat64(at, s, true), 1e-7],
  ] as const)(
    'CHAN-4 %s are read, with one channel and two, with the short header and the long one',
    (_name, format, bits, put, tolerance) => {
      for (const channels of [1, 2]) {
        for (const long of [false, true]) {
          const heard = readWav(makeWav({ format, bits, channels, long, samples: tone, put }))
          if (!heard.ok) throw new Error(heard.reason)
          expect(heard.sound.rate).toBe(8_000)
          expect(heard.sound.samples.length).toBe(tone.length)
          for (const [index, sample] of tone.entries()) {
            expect(Math.abs((heard.sound.samples[index] ?? 9) - sample)).toBeLessThan(tolerance)
          }
        }
      }
    },
  )

  it('CHAN-4 ignores an unknown size', () => {
    const data = makeToneWav()
    new DataView(data.buffer).setUint32(40, 0x7fff_f000, true)
    expect(readWav(data)).toMatchObject({ ok: true, sound: { rate: 16_000, samples: { length: 16_000 } } })
  })

  it('CHAN-4 rejects other formats, missing data, and recordings of hours', () => {
    const put = () => undefined
    const compressed = makeWav({ format: 2, bits: 16, channels: 1, samples: tone, put })
    expect(readWav(compressed)).toMatchObject({ ok: false, reason: expect.stringContaining('cannot be read') })
    expect(readWav(makeToneWav().subarray(0, 36))).toMatchObject({ ok: false })
    expect(readWav(new Uint8Array())).toMatchObject({ ok: false })
    const hour = makeWav({ format: 1, bits: 8, channels: 1, rate: 4_000, samples: new Float32Array(4_000 * 601), put })
    expect(readWav(hour)).toMatchObject({ ok: false, reason: expect.stringContaining('10 minutes') })
  })

  it('CHAN-4 no file breaks the reader or gives an invalid sample', () => {
    const whole = makeToneWav(0.02)
    const changed = fc
      .array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 12 })
      .map((changes) => {
        const data = Uint8Array.from(whole)
        for (const [at, byte] of changes) data[at] = byte
        return data
      })
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 200 }), changed), fc.nat(700), (data, until) => {
        const heard = readWav(data.subarray(0, until))
        if (!heard.ok) return
        expect(heard.sound.samples.every((sample) => sample >= -1 && sample <= 1)).toBe(true)
      }),
      { numRuns: 500 },
    )
  })
})
