import { describe, expect, it } from 'vitest'
import { isEcho } from './browser-ears.ts'
import { createResampler, createUtterances, heardRate, toWav } from './utterances.ts'

/** Seconds of a tone over a little noise; the same at every run. */
function sound(seconds: number, level: number, rate = heardRate): Float32Array {
  let seed = 7
  return Float32Array.from({ length: Math.round(seconds * rate) }, (_, index) => {
    seed = (seed * 16_807) % 2_147_483_647
    const noise = (seed / 2_147_483_647 - 0.5) * 0.004
    return noise + level * Math.sin((2 * Math.PI * 220 * index) / rate)
  })
}

function listen(isWhole: boolean) {
  const heard: string[] = []
  const said: Float32Array[] = []
  let pauses = 0
  const utterances = createUtterances(isWhole, {
    onBegin: () => heard.push('began'),
    onPause: () => {
      pauses += 1
    },
    onContinue: () => heard.push('continued'),
    onEnd: (samples) => {
      heard.push('ended')
      said.push(samples)
    },
    onLevel: () => undefined,
  })
  return { utterances, heard, said, pauses: () => pauses }
}

const seconds = (samples: Float32Array | undefined) => (samples?.length ?? 0) / heardRate

describe('recorded speech', () => {
  it('CHAN-3 an utterance is cut out of the silence around it, with a short lead', () => {
    const { utterances, heard, said } = listen(false)
    for (const piece of [sound(2, 0), sound(1, 0.3), sound(1.5, 0), sound(0.8, 0.2), sound(1.5, 0)])
      utterances.push(piece)
    expect(heard).toEqual(['began', 'ended', 'began', 'ended'])
    expect(seconds(said[0])).toBeGreaterThan(1.2)
    expect(seconds(said[0])).toBeLessThan(2.3)
  })

  it('CHAN-3 a click is no speech, nor is the steady noise of a room', () => {
    const { utterances, heard } = listen(false)
    for (let round = 0; round < 5; round += 1) {
      utterances.push(sound(0.05, 0.5))
      utterances.push(sound(1, 0))
    }
    for (let round = 1; round <= 20; round += 1) utterances.push(sound(1, 0.0005 * round))
    expect(heard).toEqual([])
  })

  it('CHAN-3 a pause within a sentence does not end it', () => {
    const { utterances, heard, pauses } = listen(false)
    for (const piece of [sound(1, 0), sound(0.6, 0.3), sound(0.4, 0), sound(0.6, 0.3)]) utterances.push(piece)
    expect(heard).toEqual(['began', 'continued'])
    expect(pauses()).toBe(1)
  })

  it('CHAN-3 while Familiar speaks, sound that is hardly louder than the room does not count', () => {
    const { utterances, heard } = listen(false)
    utterances.setGuarded(true)
    utterances.push(sound(1, 0))
    utterances.push(sound(1, 0.02))
    expect(heard).toEqual([])
    utterances.push(sound(1, 0.3))
    expect(heard).toEqual(['began'])
  })

  it('CHAN-3 while the button is held nothing is cut, and silence is nothing', () => {
    const held = listen(true)
    for (const piece of [sound(1, 0), sound(1, 0.3), sound(2, 0), sound(1, 0.3)]) held.utterances.push(piece)
    expect(held.heard).toEqual(['began', 'began'])
    expect(seconds(held.utterances.finish())).toBeCloseTo(5, 0)
    const silent = listen(true)
    silent.utterances.push(sound(3, 0))
    expect(silent.utterances.finish()).toBeUndefined()
  })

  it.each([44_100, 48_000, 16_000, 8_000])('CHAN-3 sound of %i samples a second keeps its length and pitch', (rate) => {
    const resample = createResampler(rate)
    const input = sound(1, 0.5, rate)
    const pieces: number[] = []
    for (let place = 0; place < input.length; place += 1_000)
      pieces.push(...resample(input.slice(place, place + 1_000)))
    expect(Math.abs(pieces.length - heardRate)).toBeLessThan(10)
    const crossings = pieces.filter((sample, index) => sample >= 0 && (pieces[index - 1] ?? 0) < 0).length
    expect(Math.abs(crossings - 220)).toBeLessThan(5)
  })

  it('CHAN-3 is written as a WAV of one channel', () => {
    const wav = toWav(Float32Array.of(0, 1, -1, 2), heardRate)
    const view = new DataView(wav.buffer)
    expect(new TextDecoder().decode(wav.subarray(0, 4))).toBe('RIFF')
    expect([view.getUint16(22, true), view.getUint32(24, true), view.getUint32(40, true)]).toEqual([1, 16_000, 8])
    expect([0, 2, 4, 6].map((place) => view.getInt16(44 + place, true))).toEqual([0, 32_767, -32_767, 32_767])
  })

  it('CHAN-3 its own voice is distinguished from the user’s', () => {
    const said = 'The train to Vienna leaves at nine. Take a coat.'
    expect(isEcho('train to vienna leaves', said)).toBe(true)
    expect(isEcho('no, the one at ten', said)).toBe(false)
    expect(isEcho('stop', 'We stop here.')).toBe(false)
    expect(isEcho('', said)).toBe(true)
  })
})
