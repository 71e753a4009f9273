import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { eventNumbers, openIn, temporaryDirectory } from './storage-support.ts'

const child = new URL('./storage-kill-child.ts', import.meta.url).pathname

/** Kills the writing process as soon as it has acknowledged that many units. Returns all that it acknowledged. */
async function killAfter(directory: string, units: number): Promise<number[]> {
  const writer = spawn(process.execPath, [child, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  writer.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text
    if (output.split('\n').length > units) writer.kill('SIGKILL')
  })
  await once(writer, 'close')
  // The last line may be cut by the kill.
  return output.split('\n').slice(0, -1).map(Number)
}

test.each([1, 2, 17, 50, 100, 137, 199])(
  'STORE-1 SEC-20 STORE-6 killed after %i of 200 writes: every acknowledged one is there',
  async (units) => {
    using directory = temporaryDirectory()
    const acknowledged = await killAfter(directory.path, units)
    expect(acknowledged.length).toBeGreaterThanOrEqual(units)
    const database = await openIn(directory.path)
    expect(database.recoveredFromUncleanStop).toBe(true)
    expect(await eventNumbers(database)).toEqual(expect.arrayContaining(acknowledged))
    expect(await database.checkIntegrity()).toEqual([])
    await database.close()
  },
)
