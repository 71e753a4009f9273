import fastCheck from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createDemultiplexer } from './run-container.ts'

function frame(stream: 'stdout' | 'stderr', bytes: Uint8Array): Uint8Array {
  const header = Buffer.alloc(8)
  header[0] = stream === 'stderr' ? 2 : 1
  header.writeUInt32BE(bytes.length, 4)
  return Buffer.concat([header, bytes])
}

describe('createDemultiplexer', () => {
  it('TOOL-2 gives each stream its bytes, however the frames are split', () => {
    const frames = fastCheck.array(
      fastCheck.record({
        stream: fastCheck.constantFrom('stdout' as const, 'stderr' as const),
        bytes: fastCheck.uint8Array({ maxLength: 40 }),
      }),
    )
    fastCheck.assert(
      fastCheck.property(frames, fastCheck.infiniteStream(fastCheck.integer({ min: 1, max: 20 })), (sent, sizes) => {
        const wire = Buffer.concat(sent.map(({ stream, bytes }) => frame(stream, bytes)))
        const got = { stdout: [] as number[], stderr: [] as number[] }
        const take = createDemultiplexer(({ stream, bytes }) => got[stream].push(...bytes))
        for (let at = 0; at < wire.length; ) {
          const size = sizes.next().value ?? 1
          take(wire.subarray(at, at + size))
          at += size
        }
        for (const stream of ['stdout', 'stderr'] as const) {
          const expected = sent.filter((each) => each.stream === stream).flatMap(({ bytes }) => [...bytes])
          expect(got[stream]).toEqual(expected)
        }
      }),
    )
  })

  it('SEC-12 treats a printed frame as output', () => {
    const forged = frame('stderr', Buffer.from('fake'))
    const got: string[] = []
    const take = createDemultiplexer(({ stream, bytes }) => got.push(`${stream} ${bytes.length}`))
    take(frame('stdout', forged))
    expect(got).toEqual([`stdout ${forged.length}`])
  })
})
