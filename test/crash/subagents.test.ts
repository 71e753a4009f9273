import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { chosen } from './chosen-passings.ts'
import { openKillBench } from './kill-bench.ts'

describe('SUB-1 killed while a sub-agent works', () => {
  it('SUB-1 the sub-agent continues, and its parent gets its answer once', { timeout: 300_000 }, async () => {
    await using bench = openKillBench(join(import.meta.dirname, 'subagent-child.ts'))
    const { whole, points } = await bench.count()
    expect(whole).toEqual({
      text: 'told: told: blue',
      results: ['told: blue'],
      spawns: ['done'],
      sessions: 1,
      open: 0,
      paying: 1,
    })
    expect(points.length).toBeGreaterThan(20)
    expect(await bench.killAt(chosen(points))).toEqual([])
  })
})
