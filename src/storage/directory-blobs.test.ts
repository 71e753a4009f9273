import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createDirectoryBlobs } from './blobs.ts'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'familiar-blobs-'))
})
afterEach(() => rmSync(root, { recursive: true }))

it('SEC-11 does not follow links in a directory that others can write to', async () => {
  const [place, outside] = [join(root, 'place'), join(root, 'outside')]
  mkdirSync(place)
  mkdirSync(outside)
  writeFileSync(join(outside, 'secret'), 'private')
  symlinkSync(outside, join(place, 'media'))
  symlinkSync(join(outside, 'secret'), join(place, 'one'))
  const store = createDirectoryBlobs({ directory: place })
  expect(await store.get('media/secret').catch(() => undefined)).toBeUndefined()
  expect(await store.get('one').catch(() => undefined)).toBeUndefined()
  expect(await Array.fromAsync(store.list(''))).toEqual([])
  await expect(store.put('media/new', Buffer.from('x'))).rejects.toThrow()
  expect(readdirSync(outside)).toEqual(['secret'])
})

it('SCALE-5 an unmounted directory is an error, and nothing is created in its place', async () => {
  const store = createDirectoryBlobs({ directory: join(root, 'not-mounted') })
  await expect(store.put('a', Buffer.from('1'))).rejects.toMatchObject({ code: 'unavailable' })
  await expect(store.get('a')).rejects.toMatchObject({ code: 'unavailable' })
  expect(readdirSync(root)).toEqual([])
})

it('SCALE-5 files that are still being written are not listed', async () => {
  const store = createDirectoryBlobs({ directory: root })
  await store.put('a', Buffer.from('1'))
  writeFileSync(join(root, '.b.0b1c.tmp'), 'half')
  expect(await Array.fromAsync(store.list(''))).toEqual(['a'])
})
