import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { sha256 } from '../base/ids.ts'
import { type BlobStore, createDirectoryBlobs } from '../storage/blobs.ts'
import { createCachedBlobs } from './shared-files.ts'

let root: string
let fetched: string[]
let far: BlobStore
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'familiar-cached-'))
  fetched = []
  const store = createDirectoryBlobs({ directory: mkdtempSync(join(root, 'far-')) })
  far = {
    ...store,
    get(name) {
      fetched.push(name)
      return store.get(name)
    },
  }
})
afterEach(() => rmSync(root, { recursive: true }))

const near = () => join(root, 'near')
const isSound = (name: string, bytes: Uint8Array) => sha256(bytes) === name
const open = (mostBytes: number) => createCachedBlobs({ store: far, directory: near(), mostBytes, isSound })
const blob = (text: string) => ({ name: sha256(text), bytes: Buffer.from(text) })

it('SCALE-5 recently used files are cached, also after a restart, and the least recently used leaves first', async () => {
  const [a, b, c] = [blob('a'.repeat(40)), blob('b'.repeat(40)), blob('c'.repeat(40))]
  const cached = open(100)
  for (const { name, bytes } of [a, b]) await cached.put(name, bytes)
  await cached.get(a.name)
  await cached.put(c.name, c.bytes)
  expect(fetched).toEqual([])
  expect(readdirSync(near()).sort()).toEqual([a.name, c.name].sort())
  const again = open(100)
  for (const { name, bytes } of [a, c, b]) expect(Buffer.compare((await again.get(name)) ?? a.bytes, bytes)).toBe(0)
  expect(fetched).toEqual([b.name])
  expect(readdirSync(near())).toHaveLength(2)
})

it('SCALE-5 a file that was damaged in the cache is fetched again, one that is damaged in the store is not cached', async () => {
  const a = blob('as it was')
  const cached = open(1_000)
  await cached.put(a.name, a.bytes)
  writeFileSync(join(near(), a.name), 'something else')
  expect(String(await cached.get(a.name))).toBe('as it was')
  await cached.delete(a.name)
  expect(await cached.get(a.name)).toBeUndefined()
  await far.put(a.name, Buffer.from('forged'))
  await cached.get(a.name)
  expect(readdirSync(near())).toEqual([])
})

it('SCALE-5 a cache that cannot be written costs time and nothing else', async () => {
  writeFileSync(near(), 'a file where a folder should be')
  const a = blob('a')
  const cached = open(1_000)
  await cached.put(a.name, a.bytes)
  expect(String(await cached.get(a.name))).toBe('a')
})
