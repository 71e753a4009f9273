import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { sha256 } from '../../../base/hash.ts'
import type { BlobStore } from '../../../storage/blobs/blob-store.ts'
import { createDirectoryBlobs } from '../../../storage/blobs/directory-blobs.ts'
import { createVersionStore } from './version-store.ts'

const files = new Map(
  Object.entries({ 'main.py': 'def run(args): return 1\n', 'manifest.json': '{}', 'data/words.txt': 'a\n' }).map(
    ([path, text]) => [path, Buffer.from(text)],
  ),
)
const key = { capabilityId: 'one', version: 1 }

describe('versions that daemons share', () => {
  let root: string
  let shared: BlobStore
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'familiar-versions-'))
    mkdirSync(join(root, 'shared'))
    shared = createDirectoryBlobs({ directory: join(root, 'shared') })
  })
  afterEach(() => rmSync(root, { recursive: true }))

  const open = (home: string, place: BlobStore | undefined = shared) =>
    createVersionStore({ directory: join(root, home), shared: place })
  const write = (home: string) => open(home).write({ ...key, files, createdAt: 5 })
  const there = (hash: string, path: string) => join(root, 'shared', 'one', hash, path)

  it('SCALE-5 a daemon that lacks a version fetches it whole, and then has it', async () => {
    const { hash } = await write('a')
    const daemon = open('b')
    const [first, second] = await Promise.all([daemon.read({ ...key, hash }), daemon.read({ ...key, hash })])
    expect(first).toMatchObject({ ok: true, hash, directory: join(root, 'b', 'one', 'v1') })
    expect(second).toEqual(first)
    for (const [path, bytes] of files) {
      if (path !== 'manifest.json') expect(readFileSync(join(root, 'b', 'one', 'v1', path))).toEqual(bytes)
    }
    expect(readdirSync(join(root, 'b', 'one'))).toEqual(['v1'])
    rmSync(join(root, 'shared'), { recursive: true })
    expect(await daemon.read({ ...key, hash })).toMatchObject({ ok: true })
  })

  it.each<[string, (hash: string) => void, string]>([
    ['a changed file', (hash) => writeFileSync(there(hash, 'main.py'), 'import os'), 'main.py in the shared place'],
    ['a file that is gone', (hash) => rmSync(there(hash, 'data/words.txt')), 'data/words.txt is not'],
    ['a lock that is gone', (hash) => rmSync(there(hash, 'lock.json')), 'it is not in the shared place'],
    ['a lock that goes with a changed file', (hash) => forge(hash), 'lock.json in the shared place is not'],
    ['a place that is gone', () => rmSync(join(root, 'shared'), { recursive: true }), 'could not be fetched'],
  ])('SCALE-5 uses nothing of a version with %s', async (_what, change, problem) => {
    const { hash } = await write('a')
    change(hash)
    const reading = await open('b').read({ ...key, hash })
    expect(reading.ok ? '' : reading.problem).toContain(problem)
    expect(() => readdirSync(join(root, 'b', 'one'))).toThrow()
  })

  function forge(hash: string): void {
    writeFileSync(there(hash, 'main.py'), 'import os')
    const lock = JSON.parse(readFileSync(there(hash, 'lock.json'), 'utf8')) as { files: Record<string, string> }
    lock.files['main.py'] = sha256('import os')
    writeFileSync(there(hash, 'lock.json'), `${JSON.stringify(lock, null, 2)}\n`)
  }

  it('SCALE-5 a version that is not the registered one here gives way to the one that is', async () => {
    const { hash } = await write('a')
    await open('b').write({ ...key, files: new Map(files).set('main.py', Buffer.from('other')), createdAt: 6 })
    expect(await open('b').read({ ...key, hash })).toMatchObject({ ok: true, hash })
    expect(readFileSync(join(root, 'b', 'one', 'v1', 'main.py'))).toEqual(files.get('main.py'))
    expect(readdirSync(join(root, 'b', 'one'))).toEqual(['v1'])
  })

  it('SCALE-5 what cannot be put where all find it is not written at all', async () => {
    rmSync(join(root, 'shared'), { recursive: true })
    await expect(write('a')).rejects.toMatchObject({ code: 'unavailable' })
    expect(readdirSync(join(root, 'a', 'one'))).toEqual([])
  })

  it('SCALE-5 what a home had before is put where all find it, once', async () => {
    const { hash } = await createVersionStore({ directory: join(root, 'a') }).write({ ...key, files, createdAt: 5 })
    const known = [
      { ...key, hash },
      { capabilityId: 'gone', version: 1, hash },
    ]
    expect(await open('a').share(known)).toBe(1)
    expect(await open('a').share(known)).toBe(0)
    expect(await open('b').read({ ...key, hash })).toMatchObject({ ok: true })
  })

  it('SCALE-5 removing one of two that raced for a number leaves the other', async () => {
    const { hash } = await write('a')
    const lost = await open('b').write({ ...key, files, createdAt: 6 })
    await open('b').remove({ ...key, hash: lost.hash })
    expect(await open('c').read({ ...key, hash })).toMatchObject({ ok: true })
    expect(await open('c').read({ ...key, hash: lost.hash })).toMatchObject({ ok: false })
  })
})
