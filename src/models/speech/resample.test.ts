import { describe, expect, it } from 'vitest'
import { loudness, makeTone } from '../../../test/support/made-sound.ts'
import { resample } from './recordings.ts'

/** Without the ends, where half of the filter is outside. */
const middle = (samples: Float32Array) => samples.subarray(800, -800)

describe('resampling', () => {
  it.each([8_000, 11_025, 22_050, 24_000, 44_100, 48_000, 96_000])(
    'CHAN-4 a tone at %d stays the same tone at 16,000',
    (rate) => {
      const { samples } = resample({ samples: makeTone({ hertz: 1_000, rate, seconds: 0.5 }), rate }, 16_000)
      const wanted = makeTone({ hertz: 1_000, rate: 16_000, seconds: 0.5 })
      expect(samples.length).toBe(wanted.length)
      const difference = middle(samples).map((sample, index) => sample - (middle(wanted)[index] ?? 0))
      expect(loudness(difference)).toBeLessThan(0.001)
    },
  )

  it('CHAN-4 frequencies above the new limit are removed, not aliased', () => {
    const rate = 48_000
    for (const hertz of [9_000, 12_000, 20_000]) {
      const { samples } = resample({ samples: makeTone({ hertz, rate, seconds: 0.5 }), rate }, 16_000)
      expect(loudness(middle(samples)), `${hertz}`).toBeLessThan(0.002)
    }
  })

  it('CHAN-4 the same rate changes nothing, and empty stays empty', () => {
    const samples = makeTone({ hertz: 100, rate: 16_000, seconds: 0.1 })
    expect(resample({ samples, rate: 16_000 }, 16_000).samples).toBe(samples)
    expect(resample({ samples: new Float32Array(), rate: 44_100 }, 16_000).samples.length).toBe(0)
  })
})
