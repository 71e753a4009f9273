import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openMemoryStore } from '../../test/support/memory-store.ts'
import { createDirectoryBlobs } from './blobs.ts'
import { createMediaStore, shareMedia } from './media-store.ts'

let root: string
let store: Awaited<ReturnType<typeof openMemoryStore>>
beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'familiar-media-'))
  for (const name of ['one', 'two', 'shared']) mkdirSync(join(root, name))
  store = await openMemoryStore()
})
afterEach(async () => {
  await store.close()
  rmSync(root, { recursive: true })
})

const shared = () => createDirectoryBlobs({ directory: join(root, 'shared') })
function open(home: string, isShared = true) {
  const { database, clock } = store
  return createMediaStore({ database, clock, directory: join(root, home), ...(isShared && { shared: shared() }) })
}
const note = { name: 'note.txt', mediaType: 'text/plain', data: Buffer.from('A note.') }

it('SCALE-5 a file stored by one daemon is loaded by another, with nothing in a home', async () => {
  const { hash } = await open('one').put(note)
  expect(String(await open('two').load(hash))).toBe('A note.')
  expect(readdirSync(join(root, 'one'))).toEqual([])
  expect(readdirSync(join(root, 'shared'))).toEqual([hash])
})

it('SCALE-5 bytes that do not match their hash are never returned', async () => {
  const { hash } = await open('one').put(note)
  writeFileSync(join(root, 'shared', hash), 'A forged note.')
  await expect(open('two').load(hash)).rejects.toMatchObject({ code: 'conflict' })
  writeFileSync(join(root, 'two', hash), 'Forged here.')
  await expect(open('two').load(hash)).rejects.toMatchObject({ code: 'conflict' })
  writeFileSync(join(root, 'shared', hash), 'A note.')
  expect(String(await open('two').load(hash))).toBe('A note.')
})

it('SCALE-5 files from before sharing are found in the home and copied to the shared place', async () => {
  const { hash } = await open('one', false).put(note)
  writeFileSync(join(root, 'one', 'f'.repeat(64)), 'not what its name says')
  writeFileSync(join(root, 'one', 'README'), 'no file of ours')
  expect(String(await open('one').load(hash))).toBe('A note.')
  await expect(open('two').load(hash)).rejects.toMatchObject({ code: 'not_found' })
  expect(await shareMedia(join(root, 'one'), shared())).toBe(1)
  expect(await shareMedia(join(root, 'one'), shared())).toBe(0)
  expect(String(await open('two').load(hash))).toBe('A note.')
  expect(readFileSync(join(root, 'one', hash), 'utf8')).toBe('A note.')
  expect(readdirSync(join(root, 'shared'))).toEqual([hash])
})

it('SEC-11 loads by hash only', async () => {
  for (const hash of ['../one', 'note.txt', '', '/etc/passwd']) {
    await expect(open('one').load(hash)).rejects.toMatchObject({ code: 'not_found' })
  }
})
