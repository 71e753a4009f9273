import { PassThrough } from 'node:stream'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readLauncherStatus } from './launcher.ts'

/** A launcher's messages, in pieces as they arrive through a pipe. */
async function read(...pieces: string[]) {
  const stream = new PassThrough()
  const status = readLauncherStatus(stream)
  for (const piece of pieces) stream.write(piece)
  stream.end()
  await new Promise((resolve) => stream.on('end', resolve))
  return status
}

describe('the status of a launcher', () => {
  it('TOOL-4 is read however it is split', async () => {
    const whole = '{"ready":true}\n{ "child-pid": 41, "pid-namespace": 402 }\n{ "exit-code": 3 }\n'
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 0, max: whole.length }), { maxLength: 9 }), async (cuts) => {
        const at = [0, ...cuts.toSorted((a, b) => a - b), whole.length]
        const status = await read(...at.slice(1).map((end, index) => whole.slice(at[index], end)))
        expect([status.firstProcess(), status.end()]).toEqual([41, { kind: 'exited', code: 3 }])
      }),
    )
  })

  it('TOOL-4 is an error without an exit code, whatever else was reported', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string()), async (lines) => {
        const status = await read(...lines.map((line) => `${line.replaceAll('exit-code', '')}\n`))
        expect(status.end().kind).toBe('broken')
      }),
    )
    // A number that is not a process id would be a signal to all processes.
    const status = await read('{"child-pid":0}\n{"child-pid":-1}\n{"child-pid":"7"}\n{"exit-code":"0"}\n')
    expect([status.firstProcess(), status.end().kind]).toEqual([undefined, 'broken'])
  })
})
