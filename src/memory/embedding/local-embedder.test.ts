import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { afterEach, describe, expect, it } from 'vitest'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { systemClock } from '../../base/clock.ts'
import { processIdentity } from '../../daemon/daemon-lock.ts'
import type { Embedder } from './embedders.ts'
import {
  createLocalEmbedder,
  type EmbeddingChild,
  localModelFolder,
  type StartChild,
  startChild,
} from './local-embedder.ts'

const opened: Embedder[] = []
afterEach(async () => {
  await Promise.all(opened.splice(0).map((embedder) => embedder.close()))
})

/** The real process, recorded when it starts. */
function openLocal(options: Partial<Parameters<typeof createLocalEmbedder>[0]> = {}) {
  const children: EmbeddingChild[] = []
  const sent: string[] = []
  const start: StartChild = (folder, events) => {
    const child = startChild(folder, events)
    children.push(child)
    return {
      ...child,
      send(message) {
        sent.push(message.text)
        child.send(message)
      },
    }
  }
  const embedder = createLocalEmbedder({ folder: localModelFolder, clock: systemClock(), start, ...options })
  opened.push(embedder)
  return { embedder, children, sent }
}

/** A zombie counts as gone. */
function isAlive(pid: number | undefined): boolean {
  const identity = pid === undefined ? undefined : processIdentity(pid)
  return identity !== undefined && identity !== 'dead'
}

async function untilGone(pid: number | undefined): Promise<void> {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10))
}

function cosine(a: Float32Array | undefined, b: Float32Array | undefined): number {
  return a?.reduce((sum, value, index) => sum + value * (b?.[index] ?? 0), 0) ?? 0
}

describe.skipIf(!existsSync(localModelFolder))('the local model (npm test fetches it)', () => {
  it('MEM-15 gives similar vectors of length one for similar meanings, always the same', async () => {
    const { embedder } = openLocal()
    const texts = ['I cannot eat prawns', 'shrimp allergy', 'my car is red', '', '中文 \ud800 \u0000']
    const vectors = await embedder.embed(texts, 'memory')
    const [prawns, shrimp, car] = vectors
    expect(cosine(prawns, shrimp)).toBeGreaterThan(cosine(prawns, car) + 0.1)
    for (const vector of vectors) {
      expect(vector).toHaveLength(embedder.dimensions)
      expect(Math.hypot(...vector)).toBeCloseTo(1, 5)
    }
    // One by one and in another process: batches must not matter.
    const other = openLocal()
    const again = await Promise.all(texts.toReversed().map((text) => other.embedder.embed([text], 'question')))
    expect(again.flat().reverse()).toEqual(vectors)
    expect(await embedder.embed([], 'memory')).toEqual([])
  })

  it('MEM-15 answers a question before waiting memories', async () => {
    const { embedder, sent } = openLocal()
    await embedder.embed(['warm'], 'memory')
    const memories = embedder.embed(['one', 'two', 'three'], 'memory')
    const question = embedder.embed(['question'], 'question')
    await Promise.all([memories, question])
    expect(sent).toEqual(['warm', 'one', 'question', 'two', 'three'])
  })

  it('MEM-15 continues after its process was killed in the middle, with the same results', async () => {
    const { embedder, children } = openLocal()
    const expected = await embedder.embed(['one', 'two'], 'memory')
    const long = embedder.embed(['word '.repeat(600), 'one', 'two'], 'memory')
    process.kill(children[0]?.pid ?? 0, 'SIGKILL')
    expect((await long).slice(1)).toEqual(expected)
    expect(children).toHaveLength(2)
    process.kill(children[1]?.pid ?? 0, 'SIGKILL')
    await untilGone(children[1]?.pid)
    expect(await embedder.embed(['one', 'two'], 'question')).toEqual(expected)
    expect(children).toHaveLength(3)
  })

  it('MEM-15 gives up on a text that crashes the process twice, not on the next one', async () => {
    const start: StartChild = (folder, events) => {
      const child = startChild(folder, events)
      return { ...child, send: (message) => void (message.text === 'deadly' ? child.end() : child.send(message)) }
    }
    const { embedder } = openLocal({ start })
    const deadly = embedder.embed(['deadly'], 'memory')
    const harmless = embedder.embed(['harmless'], 'memory')
    await expect(deadly).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('twice') })
    expect(await harmless).toHaveLength(1)
  })

  it('MEM-15 stops its process after five idle minutes, and starts another on demand', async () => {
    const clock = createManualClock()
    const { embedder, children } = openLocal({ clock })
    await embedder.embed(['one'], 'memory')
    await clock.advance(5 * 60_000 - 1)
    expect(isAlive(children[0]?.pid)).toBe(true)
    await clock.advance(1)
    await untilGone(children[0]?.pid)
    await embedder.embed(['two'], 'memory')
    expect(children).toHaveLength(2)
  })

  it('MEM-15 replaces a process that hangs', async () => {
    const clock = createManualClock()
    const { embedder, children } = openLocal({ clock })
    await embedder.embed(['one'], 'memory')
    process.kill(children[0]?.pid ?? 0, 'SIGSTOP')
    const stuck = embedder.embed(['two'], 'memory')
    await clock.advance(60_000)
    expect(await stuck).toHaveLength(1)
    expect(children).toHaveLength(2)
  })

  it('MEM-15 drops aborted texts, and answers the rest', async () => {
    const { embedder, sent } = openLocal()
    await embedder.embed(['warm'], 'memory')
    const stop = new AbortController()
    const first = embedder.embed(['one', 'two'], 'memory', stop.signal)
    const second = embedder.embed(['three'], 'memory')
    stop.abort(new Error('enough'))
    await expect(first).rejects.toThrow('enough')
    await second
    expect(sent).toEqual(['warm', 'one', 'three'])
    await expect(embedder.embed(['four'], 'memory', stop.signal)).rejects.toThrow('enough')
  })

  it('MEM-15 leaves no process behind when closed, whatever is running', async () => {
    const { embedder, children } = openLocal()
    await embedder.embed(['one'], 'memory')
    const waiting = embedder.embed(['word '.repeat(600), 'two'], 'memory')
    const refused = expect(waiting).rejects.toMatchObject({ code: 'unavailable' })
    await embedder.close()
    await refused
    expect(isAlive(children[0]?.pid)).toBe(false)
    await expect(embedder.embed(['three'], 'memory')).rejects.toMatchObject({ code: 'unavailable' })
    expect(children).toHaveLength(1)
  })

  /** Another program that has embedded something and then runs `rest`. Prints the pid of its child first. */
  function startProgram(rest: string) {
    const program = `
      import { systemClock } from '${new URL('../../base/clock.ts', import.meta.url)}'
      import { createLocalEmbedder } from '${new URL('./local-embedder.ts', import.meta.url)}'
      import { startChild } from '${new URL('./local-embedder.ts', import.meta.url)}'
      const start = (...given) => {
        const child = startChild(...given)
        console.log(child.pid)
        return child
      }
      const embedder = createLocalEmbedder({ folder: ${JSON.stringify(localModelFolder)}, clock: systemClock(), start })
      await embedder.embed(['one'], 'memory')
      ${rest}`
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
  }

  it('MEM-15 does not outlive the program, and survives a Ctrl-C that the program survives', async () => {
    const { child, lines } = startProgram(`setInterval(() => {}, 1000); console.log('ready')`)
    const pid = Number((await lines.next()).value)
    expect((await lines.next()).value).toBe('ready')
    process.kill(pid, 'SIGINT')
    process.kill(pid, 'SIGTERM')
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(isAlive(pid)).toBe(true)
    child.kill('SIGKILL')
    await once(child, 'exit')
    await untilGone(pid)
  })

  it.each(['await embedder.close()', ''])('MEM-15 does not keep a program alive (%j)', async (rest) => {
    const { child, lines } = startProgram(rest)
    const pid = Number((await lines.next()).value)
    expect(await once(child, 'exit')).toEqual([0, null])
    await untilGone(pid)
  })
})

describe('without the model', () => {
  it('MEM-15 says what is missing and how to get it, and does not check again at every question', async () => {
    const clock = createManualClock()
    const { embedder, children } = openLocal({ folder: '/nowhere', clock })
    const all = await Promise.allSettled([embedder.embed(['a'], 'question'), embedder.embed(['b'], 'memory')])
    for (const result of all) {
      expect(result).toMatchObject({
        reason: {
          code: 'unavailable',
          message: 'The local embedding model is not installed. To download it: `familiar setup`',
        },
      })
    }
    await expect(embedder.embed(['c'], 'question')).rejects.toMatchObject({ code: 'unavailable' })
    expect(children).toHaveLength(1)
    await clock.advance(60_000)
    await expect(embedder.embed(['c'], 'question')).rejects.toMatchObject({ code: 'unavailable' })
    expect(children).toHaveLength(2)
  })
})
