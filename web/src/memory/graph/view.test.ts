import { describe, expect, it } from 'vitest'
import { fit, nodeAt, panBy, toPlane, zoomAt } from './view.ts'

const size = { width: 400, height: 200 }
const view = { x: 10, y: 20, scale: 2 }

describe('what of the graph is looked at', () => {
  it('PAGE-6 zooms at a point, which stays where it is, between limits', () => {
    const point = { x: 50, y: 150 }
    const nearer = zoomAt(view, size, point, 1.5)
    expect(nearer.scale).toBe(3)
    expect(toPlane(nearer, size, point)).toEqual(toPlane(view, size, point))
    expect(zoomAt(view, size, point, 1_000).scale).toBe(8)
    expect(zoomAt(view, size, point, 0).scale).toBe(0.02)
  })

  it('PAGE-6 follows the hand that moves it', () => {
    expect(panBy(view, 20, -10)).toEqual({ x: 0, y: 25, scale: 2 })
  })

  it('PAGE-6 fits all nodes, and nothing at all', () => {
    const all = fit(Float32Array.from([-100, 0, 300, 50]), size)
    expect([all.x, all.y]).toEqual([100, 25])
    expect(all.scale).toBeLessThan(1)
    const withNames = fit(Float32Array.from([-100, 0, 300, 50]), size, 100)
    const last = { x: (300 - withNames.x) * withNames.scale + size.width / 2, y: 0 }
    expect(last.x + 100).toBeLessThan(size.width)
    expect(fit(new Float32Array(0), size)).toEqual({ x: 0, y: 0, scale: 1 })
  })

  it('PAGE-6 finds the nearest node within reach', () => {
    const positions = Float32Array.from([0, 0, 10, 0])
    expect(nodeAt(positions, { x: 7, y: 1 }, 8)).toBe(1)
    expect(nodeAt(positions, { x: 4, y: 0 }, 8)).toBe(0)
    expect(nodeAt(positions, { x: 100, y: 0 }, 8)).toBeUndefined()
  })
})
