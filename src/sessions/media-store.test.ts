import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { openMemoryStore } from '../../test/support/memory-store.ts'
import { createDirectoryBlobs } from '../storage/blobs/directory-blobs.ts'
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

it('SCALE-5 what one daemon stored the other one loads, and nothing of it lies in a home', async () => {
  const { hash } = await open('one').put(note)
  expect(String(await open('two').load(hash))).toBe('A note.')
  expect(readdirSync(join(root, 'one'))).toEqual([])
  expect(readdirSync(join(root, 'shared'))).toEqual([hash])
})

it('SCALE-5 bytes that are not what the hash says are given to nobody', async () => {
  const { hash } = await open('one').put(note)
  writeFileSync(join(root, 'shared', hash), 'A forged note.')
  await expect(open('two').load(hash)).rejects.toMatchObject({ code: 'conflict' })
  writeFileSync(join(root, 'two', hash), 'Forged here.')
  await expect(open('two').load(hash)).rejects.toMatchObject({ code: 'conflict' })
  writeFileSync(join(root, 'shared', hash), 'A note.')
  expect(String(await open('two').load(hash))).toBe('A note.')
})

it('SCALE-5 what a home had before is still found there, and put where all find it', async () => {
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

it('SEC-11 loads by hash and by nothing else', async () => {
  for (const hash of ['../one', 'note.txt', '', '/etc/passwd']) {
    await expect(open('one').load(hash)).rejects.toMatchObject({ code: 'not_found' })
  }
})
