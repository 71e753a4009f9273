import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { chosen } from './chosen-passings.ts'
import { openKillBench } from './kill-bench.ts'

describe('CLIENT-1 killed while a client is waited for', () => {
  it('CLIENT-1 the turn keeps waiting, and its result is reported once', { timeout: 300_000 }, async () => {
    await using bench = openKillBench(join(import.meta.dirname, 'client-tool-child.ts'))
    const { whole, points } = await bench.count()
    expect(whole).toEqual({ text: 'told: ding', results: ['ding'], calls: ['answered'] })
    expect(points.length).toBeGreaterThan(8)
    expect(await bench.killAt(chosen(points))).toEqual([])
  })
})
