import type { Readable } from 'node:stream'
import { z } from 'zod'
import { parseJson } from '../../../base/json.ts'
import type { WorldEnd } from './world.ts'

const statusLine = z.object({
  ready: z.boolean().optional(),
  'child-pid': z.number().int().positive().optional(),
  'exit-code': z.number().int().optional(),
})

/** What the launching shell and then bubblewrap tell of themselves, a line of JSON each. The code cannot write there. */
export function readLauncherStatus(stream: Readable) {
  let told: z.infer<typeof statusLine> = {}
  let rest = ''
  const ready = Promise.withResolvers<void>()
  stream.setEncoding('utf8')
  stream.on('error', () => undefined)
  stream.on('data', (part: string) => {
    const lines = `${rest}${part}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const parsed = parseJson(line, statusLine)
      if (parsed.ok) told = { ...told, ...parsed.value }
    }
    if (told.ready) ready.resolve()
  })
  return {
    ready: ready.promise,
    /** By the number that this program knows it by. */
    firstProcess: () => told['child-pid'],
    end(): WorldEnd {
      const code = told['exit-code']
      return code === undefined ? { kind: 'broken', reason: 'bubblewrap gave up.' } : { kind: 'exited', code }
    },
  }
}
