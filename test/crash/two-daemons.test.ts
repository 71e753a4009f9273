import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { errand } from './errand.ts'
import { type Provider, startProvider } from './provider.ts'
import { createScene, type Scene } from './scene.ts'
import { startChild } from './start-child.ts'

const minutes = 60_000

let folder: string
let provider: Provider
let scene: Scene

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-two-'))
  provider = await startProvider({ folder })
  scene = await createScene({ folder: join(folder, 'scene'), provider, patienceMs: 2 * minutes })
})

afterEach(async () => {
  await scene.remove()
  await provider.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** On any port: that the first one has its port must not be what stops the second. */
function startAnother() {
  return startChild({ env: { ...scene.env, CRASH_PORT: '0' } })
}

describe('SESS-5 DAEMON-1 two daemons on one home', () => {
  test(
    'SESS-5 the second names the first and exits; the first continues',
    async () => {
      const first = scene.start()
      expect(await first.ready).toBe(true)
      const second = await startAnother().ended
      expect(second.code).toBe(1)
      expect(JSON.parse(second.errors)).toMatchObject({ reason: 'locked', pid: first.pid, url: scene.url })
      await scene.client.chat({ errand: errand(1, { rounds: 'charge' }), session: 'main' })
      await scene.settle()
      expect(await scene.audit()).toEqual([])
    },
    2 * minutes,
  )

  test(
    'SESS-5 started at the same moment, one of them serves',
    async () => {
      const both = [scene.start(), startAnother()]
      const ready = await Promise.all(both.map((child) => child.ready))
      expect(ready.filter(Boolean)).toHaveLength(1)
      const loser = both[ready.indexOf(false)]
      expect(await loser?.ended).toMatchObject({ code: 1, errors: expect.stringContaining('locked') })
      await Promise.all(both.map((child) => child.kill()))
    },
    2 * minutes,
  )

  test(
    'SESS-5 a daemon that was killed leaves its place to the next',
    async () => {
      const first = scene.start()
      await first.ready
      await first.kill()
      expect(await scene.fallen(first)).toEqual([])
      const second = scene.start()
      expect(await second.ready).toBe(true)
    },
    2 * minutes,
  )
})
