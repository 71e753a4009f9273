import type { GraphReply } from '../../../../src/protocol/fact-api.ts'
import type { Kind } from '../words.ts'

/** The same as numbers: what a picture is made from. */
export interface Graph {
  ids: readonly string[]
  kinds: readonly Kind[]
  labels: readonly string[]
  edges: Uint32Array<ArrayBuffer>
}

/** Edges whose other end is not among the nodes are left out. */
export function toGraph({ nodes, edges }: GraphReply): Graph {
  const numbers = new Map(nodes.map(({ id }, index) => [id, index]))
  const pairs = edges.flatMap(({ source_id, target_id }) => {
    const from = numbers.get(source_id)
    const to = numbers.get(target_id)
    return from === undefined || to === undefined ? [] : [from, to]
  })
  return {
    ids: nodes.map(({ id }) => id),
    kinds: nodes.map(({ kind }) => kind),
    labels: nodes.map(({ title, text }) => title ?? text),
    edges: Uint32Array.from(pairs),
  }
}

/** The nodes that a node is joined to, each once. */
export function joinedTo({ edges }: Graph, node: number): number[] {
  const found = new Set<number>()
  for (let edge = 0; edge + 1 < edges.length; edge += 2) {
    if (edges[edge] === node) found.add(edges[edge + 1] ?? node)
    if (edges[edge + 1] === node) found.add(edges[edge] ?? node)
  }
  found.delete(node)
  return [...found]
}
