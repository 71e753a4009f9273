import { describe, expect, it } from 'vitest'
import { fit, joinedTo, nodeAt, panBy, toGraph, toPlane, zoomAt } from './graph-drawing.ts'

const node = (id: string, title: string | null = null) => ({
  id,
  kind: 'note' as const,
  title,
  text: `text ${id}`,
  distance: null,
})
const edge = (source_id: string, target_id: string) => ({ source_id, target_id, relation: 'is', weight: 1 })

describe('toGraph', () => {
  it('PAGE-6 numbers the ids, and leaves out edges without a node', () => {
    const graph = toGraph({
      nodes: [node('a', 'A'), node('b'), node('c')],
      edges: [edge('a', 'b'), edge('b', 'gone'), edge('c', 'a'), edge('a', 'b')],
    })
    expect([...graph.edges]).toEqual([0, 1, 2, 0, 0, 1])
    expect(graph.labels).toEqual(['A', 'text b', 'text c'])
    expect(joinedTo(graph, 0)).toEqual([1, 2])
    expect(joinedTo(graph, 1)).toEqual([0])
  })
})

const size = { width: 400, height: 200 }
const view = { x: 10, y: 20, scale: 2 }

describe('the visible part of the graph', () => {
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
