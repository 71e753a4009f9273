import { describe, expect, it } from 'vitest'
import { createEventReader } from './follow.ts'

const stream = ': hello\n\nid: 3.1\nevent: text_delta\ndata: {"text":"a\\n\\nb"}\n\nid: 4\ndata: [1,\ndata: 2]\n\n'
const told = [
  { id: '3.1', name: 'text_delta', data: { text: 'a\n\nb' } },
  { id: '4', name: 'message', data: [1, 2] },
]

describe('server-sent events', () => {
  it('PAGE-2 come out the same wherever the stream was cut', () => {
    for (let size = 1; size <= stream.length; size += 1) {
      const read = createEventReader()
      const pieces = Array.from({ length: Math.ceil(stream.length / size) }, (_, index) =>
        stream.slice(index * size, (index + 1) * size),
      )
      expect(pieces.flatMap(read)).toEqual(told)
    }
  })

  it('PAGE-2 an unfinished event is not passed on', () => {
    const read = createEventReader()
    expect(read('id: 5\ndata: {"text":"half"}\n')).toEqual([])
    expect(read('\n')).toEqual([{ id: '5', name: 'message', data: { text: 'half' } }])
  })
})
