import { existsSync, mkdtempSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { localModelFolder } from '../../src/memory/embedding/local-embedder.ts'
import { startFamiliar } from '../support/running-familiar.ts'

const yearMs = 365 * 24 * 60 * 60_000
const others = [
  ...['I like chess', 'I like jazz', 'My bike is blue', 'My sister is called Ruth', 'I work at the library'],
  ...['I live in Graz', 'My car needs new tyres', 'I prefer trains to planes', 'My flat has two rooms'],
]
let home: string

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'familiar-meaning-'))
})

afterEach(() => rm(home, { recursive: true, force: true }))

/** Real timers, another date. */
function start(offsetMs: number) {
  const clock = systemClock()
  const env = { FAMILIAR_EMBEDDING: 'local' }
  return startFamiliar({ home, env, clock: { ...clock, now: () => clock.now() + offsetMs } })
}

// Without the files of the model there is no meaning to ask for: set-up says so, and so does this.
const withModel = it.skipIf(!existsSync(localModelFolder))

withModel(
  'MEM-2 OFFLINE-1 an allergy told a year ago is among the first three when asked “can I eat shrimp?”',
  async () => {
    const past = await start(-yearMs)
    await past.chat('Remember that I am allergic to shellfish')
    for (const note of others) await past.chat(`Remember that ${note}`)
    await past.close({ keep: true })

    const today = await start(0)
    try {
      let reply = ''
      // The vectors come in the background.
      for (let look = 0; look < 40 && !reply.includes('shellfish'); look += 1) {
        if (look > 0) await setTimeout(250)
        reply = (await today.chat('Can I eat shrimp?')).reply
      }
      const firstThree = reply
        .split('\n')
        .filter((line) => line.includes('[memory:'))
        .slice(0, 3)
      expect(firstThree.join('\n')).toMatch(/allergic to shellfish.*\[memory:[\w-]+\]/)
    } finally {
      await today.close({ keep: true })
    }
  },
)
