import { describe, expect, it } from 'vitest'
import { joinedTo, toGraph } from './graph.ts'

const node = (id: string, title: string | null = null) => ({
  id,
  kind: 'note' as const,
  title,
  text: `text ${id}`,
  distance: null,
})
const edge = (source_id: string, target_id: string) => ({ source_id, target_id, relation: 'is', weight: 1 })

describe('toGraph', () => {
  it('PAGE-6 makes numbers of ids, and leaves out what leads nowhere', () => {
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
