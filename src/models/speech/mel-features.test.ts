import { describe, expect, it } from 'vitest'
import { createMelFilters, createPowerSpectrum, melBands, melFeatures, melFrames } from './whisper.ts'

describe('audio features', () => {
  it("CHAN-4 the bands are those of the model's training", () => {
    const filters = createMelFilters({ bands: 80, rate: 16_000, size: 400 })
    // As librosa computes them, and as the authors ship them.
    expect(filters[0]?.weights[1]).toBeCloseTo(0.024_862_59, 8)
    expect(filters[1]?.weights[0]).toBeCloseTo(0.001_990_82, 8)
    expect(filters[79]?.first).toBe(186)
    expect(Math.max(...(filters[79]?.weights ?? []))).toBeCloseTo(0.003_164_71, 8)
  })

  it('CHAN-4 the numbers equal those of numpy', () => {
    const samples = Float32Array.from({ length: 16_000 }, (_, index) => {
      const t = index / 16_000
      return 0.5 * Math.sin(2 * Math.PI * 440 * t) + 0.1 * Math.sin(2 * Math.PI * 3_000 * t * (1 + t))
    })
    const features = melFeatures(samples)
    expect(features.length).toBe(melBands * melFrames)
    for (const [band, frame, level] of [
      [0, 0, 0.988745],
      [5, 10, -0.561796],
      [10, 50, 1.348738],
      [10, 99, 1.349455],
      [79, 99, -0.201698],
      [40, 100, 0.278972],
      [79, 2_999, -0.561796],
    ] as const) {
      expect(features[band * melFrames + frame], `band ${band}, frame ${frame}`).toBeCloseTo(level, 4)
    }
  })

  it('CHAN-4 silence is silence', () => {
    expect(new Set(melFeatures(new Float32Array()))).toEqual(new Set([-1.5]))
  })

  it('CHAN-4 a wave appears at its own frequency', () => {
    const power = new Float64Array(201)
    const wave = Float64Array.from({ length: 400 }, (_, index) => Math.cos((2 * Math.PI * 37 * index) / 400))
    createPowerSpectrum(400)(wave, power)
    expect(power[37]).toBeCloseTo(40_000, 4)
    expect(power.filter((value) => value > 1e-9).length).toBe(1)
  })
})
