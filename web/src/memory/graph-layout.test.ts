import { describe, expect, it } from 'vitest'
import { createLayout } from './graph-layout.ts'

function settle(count: number, edges: readonly number[]): Float32Array {
  const layout = createLayout({ count, edges: Uint32Array.from(edges) })
  while (!layout.isSettled()) layout.step()
  return layout.positions
}

function distance(positions: Float32Array, from: number, to: number): number {
  const [x = 0, y = 0] = positions.subarray(from * 2)
  const [otherX = 0, otherY = 0] = positions.subarray(to * 2)
  return Math.hypot(x - otherX, y - otherY)
}

describe('createLayout', () => {
  it('PAGE-6 puts linked nodes nearer than others', () => {
    // Two triangles.
    const positions = settle(6, [0, 1, 1, 2, 2, 0, 3, 4, 4, 5, 5, 3])
    const joined = Math.max(distance(positions, 0, 1), distance(positions, 1, 2), distance(positions, 3, 5))
    const apart = Math.min(distance(positions, 0, 3), distance(positions, 2, 5), distance(positions, 1, 4))
    expect(joined).toBeLessThan(apart)
  })

  it('PAGE-6 keeps all nodes apart and in sight, and makes the same picture twice', () => {
    const edges = Array.from({ length: 199 }, (_, index) => [Math.floor(index / 3), index + 1]).flat()
    const positions = settle(200, edges)
    expect([...positions].every((value) => Number.isFinite(value) && Math.abs(value) < 5_000)).toBe(true)
    for (let node = 1; node < 200; node += 1) expect(distance(positions, node - 1, node)).toBeGreaterThan(1)
    expect(settle(200, edges)).toEqual(positions)
  })

  it('PAGE-6 accepts no node, one node, and an edge to itself', () => {
    expect(settle(0, [])).toHaveLength(0)
    expect(settle(1, [0, 0])).toHaveLength(2)
    expect([...settle(2, [0, 0, 1, 1])].every(Number.isFinite)).toBe(true)
  })
})
