import { expect, it } from 'vitest'
import type { GraphReply } from '../../protocol/memory.ts'
import { drawTree } from './memory-upkeep.ts'

const node = (id: string): GraphReply['nodes'][number] => ({
  id,
  kind: 'note',
  title: null,
  text: `Text ${id}`,
  distance: 0,
})
const edge = (source_id: string, target_id: string, relation: string) => ({ source_id, target_id, relation, weight: 1 })

it('MEM-12 draws each memory once, under the one that leads to it, also where the edges are a circle', () => {
  const reply: GraphReply = {
    nodes: ['a', 'b', 'c', 'd'].map(node),
    edges: [edge('a', 'b', 'knows'), edge('c', 'a', 'likes'), edge('b', 'd', 'has'), edge('d', 'a', 'is part of')],
  }
  expect(drawTree(reply, 'a')).toEqual([
    'note  Text a  [memory:a]',
    '├─ knows → note  Text b  [memory:b]',
    '├─ ← likes note  Text c  [memory:c]',
    '└─ ← is part of note  Text d  [memory:d]',
  ])
  expect(drawTree(reply, 'c')).toEqual([
    'note  Text c  [memory:c]',
    '└─ likes → note  Text a  [memory:a]',
    '   ├─ knows → note  Text b  [memory:b]',
    '   └─ ← is part of note  Text d  [memory:d]',
  ])
})
