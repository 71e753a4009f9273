import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Delivery } from './client.ts'
import { thinkingSource } from './crash-home.ts'
import { errand } from './errand.ts'
import { type Provider, startProvider } from './provider.ts'
import { createScene, type Scene } from './scene.ts'
import { canMount, mountSmallDisk, type SmallDisk } from './small-disk.ts'

const minutes = 60_000
const mountable = canMount()
// In its name, so that the list of skipped tests explains it.
const reason = mountable ? '' : ' (skipped: a small file system needs root)'

let folder: string
let disk: SmallDisk
let provider: Provider
let scene: Scene

beforeEach(async () => {
  if (!mountable) return
  folder = mkdtempSync(join(tmpdir(), 'familiar-full-'))
  provider = await startProvider({ folder, chunkDelayMs: 1 })
  disk = mountSmallDisk(join(folder, 'scene', 'home'))
  scene = await createScene({ folder: join(folder, 'scene'), provider, patienceMs: 4 * minutes })
})

afterEach(async () => {
  if (!mountable) return
  disk.free()
  await scene.remove().catch(() => undefined)
  disk.remove()
  await provider.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Large enough that no room is left for it in the files that are there already. */
function large(number: number): Delivery {
  return { errand: errand(number, { rounds: 'charge', padding: 150_000 }), session: 'main' }
}

/** Three conversations that are under way when the room runs out. */
async function begin(): Promise<void> {
  const rounds = 'charge,fetch_page,put_value|print_page,charge|charge'
  await scene.client.chat({ errand: errand(1, { rounds: 'charge' }), session: 'main' })
  for (const [index, session] of ['main', 'second', 'third'].entries()) {
    const source = session === 'second' ? thinkingSource : 'http'
    await scene.client.notify({ errand: errand(2 + index, { rounds }), session, source })
  }
}

describe('SESS-3 SEC-20 a full disk', () => {
  test.runIf(mountable)(
    `SESS-3 SEC-20 refuses with 503, loses nothing and continues by itself once there is room${reason}`,
    async () => {
      const child = scene.start()
      await child.ready
      await begin()
      disk.fill()
      scene.interruptions.push(Date.now())
      const refused = await scene.client.attempt('/api/v1/notify', large(9))
      expect(refused).toMatchObject({ status: 503, body: { code: 'storage_full' } })
      expect(await scene.client.attempt('/api/v1/chat', large(9))).toMatchObject({ status: 503 })
      // Long enough for what is under way to meet the end of the room, and to try again.
      await wait(3_000)
      expect(await scene.client.attempt('/api/v1/notify', large(9))).toMatchObject({ status: 503 })
      expect(await scene.client.load()).toBeDefined()
      disk.free()
      await scene.client.notify(large(9))
      await scene.settle()
      expect(await scene.audit()).toEqual([])
    },
    5 * minutes,
  )

  test.runIf(mountable)(
    `SESS-5 SEC-20 killed on a full disk, it says why it cannot start, and starts once there is room${reason}`,
    async () => {
      const doomed = scene.start()
      await doomed.ready
      await begin()
      disk.fill()
      await scene.client.attempt('/api/v1/notify', large(9))
      await doomed.kill()
      expect(await scene.fallen(doomed)).toEqual([])
      expect(await scene.auditRemains()).toEqual([])

      const refused = await scene.start().ended
      expect(refused.code).toBe(1)
      expect(refused.errors).toMatch(/disk is full/)
      disk.free()
      await scene.start().ready
      await scene.client.notify(large(9))
      await scene.settle()
      expect(await scene.audit()).toEqual([])
    },
    5 * minutes,
  )
})
