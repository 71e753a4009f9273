import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { anyText } from '../../test/support/any-text.ts'
import { sha256 } from '../base/ids.ts'
import { type BlobStore, createDirectoryBlobs } from '../storage/blobs.ts'
import { checkFiles } from './tool-folder.ts'
import { createVersionStore, readVersion } from './versions.ts'

const filesOf = (files: Record<string, string>) =>
  new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)]))
const files = filesOf({
  'main.py': 'def run(args):\n    return "x"\n',
  'manifest.json': '{"name": "greeter", "colour": "blue", "version": 7}',
  'requirements.txt': 'zebra==1\nant>=2 # comment\n',
  'data/words.txt': 'a\n',
})
const createdAt = Date.UTC(2026, 0, 2)

/** As an attacker who knows the check would do. */
function relock(folder: string): void {
  writeFileSync(join(folder, 'main.py'), 'changed')
  const path = join(folder, 'lock.json')
  const lock = JSON.parse(readFileSync(path, 'utf8')) as { files: Record<string, string> }
  lock.files['main.py'] = sha256('changed')
  writeFileSync(path, `${JSON.stringify(lock, null, 2)}\n`)
}

describe('createVersionStore', () => {
  let home: string
  let directory: string
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'familiar-versions-'))
    directory = join(home, 'capabilities')
  })
  afterEach(() => rmSync(home, { recursive: true }))

  it('CAP-4 writes a version whole, with its lock, and reads it again', async () => {
    const store = createVersionStore({ directory })
    const written = await store.write({ capabilityId: 'one', version: 1, files, createdAt })
    expect(written.directory).toBe(join(directory, 'one', 'v1'))
    const lockText = readFileSync(join(written.directory, 'lock.json'), 'utf8')
    expect(written.hash).toBe(sha256(lockText))
    expect(JSON.parse(lockText)).toMatchObject({
      format: 1,
      runtime: 'python',
      requirements: ['ant>=2', 'zebra==1'],
      created_at: createdAt,
      files: { 'data/words.txt': sha256('a\n') },
    })
    const time = '2026-01-02T00:00:00.000Z'
    const manifest = JSON.parse(readFileSync(join(written.directory, 'manifest.json'), 'utf8'))
    expect(manifest).toEqual({ name: 'greeter', colour: 'blue', version: 1, created_at: time, updated_at: time })
    const { hash } = written
    expect(await store.read({ capabilityId: 'one', version: 1, hash })).toMatchObject({ ok: true, hash })
    expect(readdirSync(join(directory, 'one'))).toEqual(['v1'])
  })

  it('CAP-4 lets the account of the sandbox read it, whatever the umask', async () => {
    const before = process.umask(0o077)
    try {
      const store = createVersionStore({ directory })
      const { directory: written } = await store.write({ capabilityId: 'one', version: 1, files, createdAt })
      const modes = [directory, join(directory, 'one'), written, join(written, 'data'), join(written, 'main.py')]
      expect(modes.map((path) => (statSync(path).mode & 0o777).toString(8))).toEqual([
        '755',
        '755',
        '755',
        '755',
        '644',
      ])
    } finally {
      process.umask(before)
    }
  })

  it('CAP-4 never writes over a version, and leaves nothing of what failed', async () => {
    const store = createVersionStore({ directory })
    const { hash } = await store.write({ capabilityId: 'one', version: 1, files, createdAt })
    const again = store.write({ capabilityId: 'one', version: 1, files: filesOf({ 'main.py': 'other' }), createdAt })
    await expect(again).rejects.toMatchObject({ code: 'conflict' })
    expect(await store.read({ capabilityId: 'one', version: 1, hash })).toMatchObject({ ok: true, hash })
    expect(readdirSync(join(directory, 'one'))).toEqual(['v1'])
  })

  it.each<[string, (folder: string) => void, string]>([
    ['a changed file', (folder) => writeFileSync(join(folder, 'main.py'), 'changed'), 'main.py was changed'],
    ['a file that is gone', (folder) => rmSync(join(folder, 'data/words.txt')), 'data/words.txt is missing'],
    ['a file that came', (folder) => writeFileSync(join(folder, 'extra.py'), ''), 'extra.py was added'],
    ['a lock that is gone', (folder) => rmSync(join(folder, 'lock.json')), 'lock.json is missing'],
    ['a lock that goes with a changed file', (folder) => relock(folder), 'lock.json was changed'],
    ['a lock that is none', (folder) => writeFileSync(join(folder, 'lock.json'), '{}'), 'lock.json cannot be read'],
  ])('SEC-14 names %s', async (_, change, expected) => {
    const store = createVersionStore({ directory })
    const { directory: written, hash } = await store.write({ capabilityId: 'one', version: 1, files, createdAt })
    chmodSync(join(written, 'main.py'), 0o644)
    change(written)
    const reading = await store.read({ capabilityId: 'one', version: 1, hash })
    expect(reading.ok ? '' : reading.problem).toContain(expected)
  })

  it('CAP-4 sweeps what no row names: versions, capabilities and drafts', async () => {
    const store = createVersionStore({ directory })
    for (const [capabilityId, version] of [
      ['one', 1],
      ['one', 2],
      ['two', 1],
    ] as const) {
      await store.write({ capabilityId, version, files, createdAt })
    }
    mkdirSync(join(directory, 'one', '.draft-abc'))
    expect(await store.sweep([{ capabilityId: 'one', version: 1 }])).toHaveLength(3)
    expect(readdirSync(directory)).toEqual(['one'])
    expect(readdirSync(join(directory, 'one'))).toEqual(['v1'])
    expect((await readVersion(join(directory, 'one', 'v1'))).ok).toBe(true)
    expect(await createVersionStore({ directory: join(home, 'none') }).sweep([])).toEqual([])
  })

  it('SEC-11 writes nowhere else, whatever it is asked for', async () => {
    const store = createVersionStore({ directory })
    for (const capabilityId of ['..', '../x', 'a/b', '', '.draft-x', 'x\0']) {
      await expect(store.write({ capabilityId, version: 1, files, createdAt })).rejects.toMatchObject({
        code: 'bad_request',
      })
    }
    for (const path of ['../x', '/etc/x', 'a/../b', '.env', 'a//b', 'a/', 'a\\b', 'lock.json']) {
      const given = filesOf({ [path]: 'x' })
      await expect(store.write({ capabilityId: 'one', version: 1, files: given, createdAt })).rejects.toThrow()
    }
    expect(readdirSync(home)).toEqual([])
  })

  it('CAP-4 bounds number and size of files, and refuses paths that meet', () => {
    expect(checkFiles(files)).toEqual([])
    const many = filesOf(Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`f${index}`, ''])))
    expect(checkFiles(many)).toEqual(['There are 51 files; a capability has at most 50.'])
    const large = checkFiles(filesOf({ a: 'x'.repeat(256 * 1024 + 1) }))
    expect(large).toEqual(['a has 257 KB; a file has at most 256 KB.'])
    const parts = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`f${index}`, 'x'.repeat(250 * 1024)]))
    expect(checkFiles(filesOf(parts))).toEqual(['The files have 2250 KB in all; a capability has at most 2048 KB.'])
    expect(checkFiles(filesOf({ 'Main.py': '', 'main.py': '' }))[0]).toMatch(/upper and lower case/)
    expect(checkFiles(filesOf({ a: '', 'a/b/c': '' }))).toEqual(['a is a file, and a/b/c lies in it.'])
  })

  it('SEC-11 takes no path that leads out of the folder, whatever its text', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(anyText, fc.constantFrom('..', '.', '/', 'a')), { maxLength: 5 }), (steps) => {
        const path = steps.join('/')
        if (checkFiles(new Map([[path, new Uint8Array()]])).length > 0) return
        expect(join('/root', path)).toBe(`/root/${path}`)
        expect(path).not.toMatch(/(^|\/)\./)
      }),
    )
  })
})

const sharedFiles = new Map(
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
  const write = (home: string) => open(home).write({ ...key, files: sharedFiles, createdAt: 5 })
  const there = (hash: string, path: string) => join(root, 'shared', 'one', hash, path)

  it('SCALE-5 a daemon that lacks a version fetches it whole, and then has it', async () => {
    const { hash } = await write('a')
    const daemon = open('b')
    const [first, second] = await Promise.all([daemon.read({ ...key, hash }), daemon.read({ ...key, hash })])
    expect(first).toMatchObject({ ok: true, hash, directory: join(root, 'b', 'one', 'v1') })
    expect(second).toEqual(first)
    for (const [path, bytes] of sharedFiles) {
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
    await open('b').write({ ...key, files: new Map(sharedFiles).set('main.py', Buffer.from('other')), createdAt: 6 })
    expect(await open('b').read({ ...key, hash })).toMatchObject({ ok: true, hash })
    expect(readFileSync(join(root, 'b', 'one', 'v1', 'main.py'))).toEqual(sharedFiles.get('main.py'))
    expect(readdirSync(join(root, 'b', 'one'))).toEqual(['v1'])
  })

  it('SCALE-5 a version that cannot be shared is not written at all', async () => {
    rmSync(join(root, 'shared'), { recursive: true })
    await expect(write('a')).rejects.toMatchObject({ code: 'unavailable' })
    expect(readdirSync(join(root, 'a', 'one'))).toEqual([])
  })

  it('SCALE-5 shares the versions that a home had before, once', async () => {
    const { hash } = await createVersionStore({ directory: join(root, 'a') }).write({
      ...key,
      files: sharedFiles,
      createdAt: 5,
    })
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
    const lost = await open('b').write({ ...key, files: sharedFiles, createdAt: 6 })
    await open('b').remove({ ...key, hash: lost.hash })
    expect(await open('c').read({ ...key, hash })).toMatchObject({ ok: true })
    expect(await open('c').read({ ...key, hash: lost.hash })).toMatchObject({ ok: false })
  })
})
