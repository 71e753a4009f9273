import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createFileBackend } from '../../src/tools/files/file-backend.ts'
import { openAssets } from '../../src/tools/files/open-assets.ts'
import { type AssetStore, agentOfMax, eve, max, openAssetStore } from '../support/asset-store.ts'
import { ownTricks, systemTricks } from './asset-tricks.ts'

const canary = 'canary-of-the-outside-5f1e'
const agent = agentOfMax()
let store: AssetStore

beforeAll(async () => {
  store = await openAssetStore()
  const { workspace, outside, home } = store
  writeFileSync(join(outside, 'secret.md'), canary)
  mkdirSync(join(outside, 'folder'))
  writeFileSync(join(outside, 'folder', 'inner.md'), canary)
  writeFileSync(join(home, 'familiar.toml'), canary)
  writeFileSync(join(home, 'key'), canary)
  mkdirSync(join(workspace, 'notes'))
  writeFileSync(join(workspace, 'notes', 'trip.md'), 'a legal one')
  // Links of every kind that lead out.
  symlinkSync(join(outside, 'secret.md'), join(workspace, 'link.md'))
  symlinkSync('../../outside/secret.md', join(workspace, 'relative-link.md'))
  symlinkSync(outside, join(workspace, 'out'))
  symlinkSync('../..', join(workspace, 'up'))
  symlinkSync('/', join(workspace, 'root'))
  symlinkSync('link.md', join(workspace, 'link-to-link.md'))
  symlinkSync('loop-b', join(workspace, 'loop-a'))
  symlinkSync('loop-a', join(workspace, 'loop-b'))
  symlinkSync(join(outside, 'nothing-there.md'), join(workspace, 'dangling.md'))
  symlinkSync(join(outside, 'nothing'), join(workspace, 'dangling'))
  symlinkSync('/proc/self/root', join(workspace, 'proc-root'))
  symlinkSync(`/proc/${process.pid}/cwd`, join(workspace, 'cwd'))
  symlinkSync('../familiar.toml', join(workspace, 'config-link'))
  linkSync(join(outside, 'secret.md'), join(workspace, 'hard.md'))
  // Links that stay inside.
  symlinkSync('notes/trip.md', join(workspace, 'inside.md'))
  symlinkSync('notes', join(workspace, 'inside'))
  execFileSync('mknod', [join(workspace, 'pipe'), 'p'])
  if (process.getuid?.() === 0) {
    execFileSync('mknod', [join(workspace, 'zero'), 'c', '1', '5'])
    chmodSync(join(workspace, 'zero'), 0o666)
  }
})
afterAll(() => store.close())

/** Everything under a folder with its content, so that the smallest change shows. */
function pictureOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .map((entry) => {
      const path = join(entry.parentPath, entry.name)
      const { ino, mode, nlink } = statSync(path)
      return [path, ino, mode, nlink, entry.isFile() ? readFileSync(path, 'utf8') : ''].join(' ')
    })
    .sort()
}

describe('paths that try to get out', () => {
  it('SEC-11 ASSET-2 nothing outside the roots is read, by the agent or the user', async () => {
    const all = [...ownTricks(store), ...systemTricks(store)]
    expect(all.length).toBeGreaterThanOrEqual(300)
    for (const path of all) {
      for (const actor of [agent, max]) {
        const read = await store.assets.read(actor, { path })
        expect(JSON.stringify(read), path).not.toContain(canary)
        // Whatever has a legal name is simply not there.
        expect(read.ok, `${path} → ${JSON.stringify(read)}`).toBe(false)
        for (const told of [
          await store.assets.list(actor, { prefix: path }),
          await store.assets.stat(actor, { path }),
        ]) {
          expect(JSON.stringify(told), path).not.toMatch(/secret\.md"|inner\.md"|familiar\.db"|shadow"|root:x/)
        }
      }
    }
  })

  it('SEC-11 ASSET-2 nothing outside is written, made, removed or replaced', async () => {
    const { outside, home, workspace, base } = store
    const before = [pictureOf(outside), readdirSync(base), readdirSync(home), readFileSync(join(home, 'key'), 'utf8')]
    const made: string[] = []
    const all = ownTricks(store)
    expect(all.length).toBeGreaterThanOrEqual(200)
    for (const path of all) {
      for (const outcome of [
        await store.assets.write(agent, { path, content: 'overwritten' }),
        await store.assets.edit(agent, { path, old: canary, new: 'overwritten' }),
        await store.assets.undo(agent, { path }),
      ]) {
        if (outcome.ok) made.push(outcome.uri)
      }
    }
    const wal = (names: string[]) => names.filter((name) => !name.startsWith('familiar.db'))
    expect(pictureOf(outside)).toEqual(before[0])
    expect(wal(readdirSync(base))).toEqual(wal(before[1] as string[]))
    expect(readdirSync(home)).toEqual(before[2])
    expect(readFileSync(join(home, 'key'), 'utf8')).toBe(before[3])
    // Names that mean something elsewhere and nothing here are files of the workspace, or blocks.
    for (const uri of made)
      expect(uri.startsWith(`file://${workspace}/`) || uri.startsWith('familiar:///'), uri).toBe(true)
    // No link was written through.
    expect(existsSync(join(outside, 'nothing-there.md'))).toBe(false)
    expect(existsSync(join(outside, 'nothing'))).toBe(false)
    expect(readFileSync(join(workspace, 'hard.md'), 'utf8')).toBe(canary)
  })

  it('ASSET-2 legal paths work', async () => {
    const { assets, workspace, shared } = store
    const legal = [
      ...['a.md', 'b/c.md', './d.md', 'x/../e.md', '/f.md', 'g h.md', 'ümläut.md', '東京.md', 'e\u0301.md', '.hidden'],
      ...[
        '...',
        '..hidden',
        'a..b',
        '%2e%2e.md',
        'back\\slash',
        'quote\'"',
        '-rf',
        '🍵/🍵.md',
        'name with  spaces .txt',
      ],
      ...[`${'deep/'.repeat(30)}x.md`, 'n'.repeat(200), 'Soul.md.bak', 'skills.md', 'notes/SOUL.md', '$HOMES', 'CONS'],
    ].map((path) => (path.startsWith('/') ? join(workspace, path) : path))
    for (const path of [...legal, join(shared, 'x.md'), join(shared, 'new', 'y.md')]) {
      const content = `This is ${path}`
      expect(await assets.write(agent, { path, content }), path).toMatchObject({ ok: true })
      expect(await assets.load(agent, { path }), path).toMatchObject({ ok: true, content })
    }
    expect(await assets.load(agent, { path: 'inside.md' })).toMatchObject({
      content: 'a legal one',
      path: 'notes/trip.md',
    })
    expect(await assets.load(agent, { path: 'inside/trip.md' })).toMatchObject({ content: 'a legal one' })
    expect(statSync(join(workspace, 'b')).mode & 0o777).toBe(0o700)
    expect(statSync(join(workspace, 'b', 'c.md')).mode & 0o777).toBe(0o600)
    chmodSync(join(workspace, 'a.md'), 0o644)
    await assets.write(agent, { path: 'a.md', content: 'again' })
    expect(statSync(join(workspace, 'a.md')).mode & 0o777).toBe(0o644)
    // Writing through a link inside changes its target, and the link stays.
    await assets.write(agent, { path: 'inside.md', content: 'by a link' })
    expect(readFileSync(join(workspace, 'notes', 'trip.md'), 'utf8')).toBe('by a link')
    expect(await assets.load(agent, { path: 'inside.md' })).toMatchObject({ path: 'notes/trip.md' })
  })

  it('SEC-11 ASSET-2 a folder that is swapped for a link during the call leads nowhere', async () => {
    const { assets, workspace, outside } = store
    mkdirSync(join(workspace, 'swap'))
    writeFileSync(join(workspace, 'swap', 'inner.md'), 'inside')
    mkdirSync(join(outside, 'target'))
    writeFileSync(join(outside, 'target', 'inner.md'), canary)
    // Another thread swaps the folder and the file for links to the outside, as fast as it can.
    const swapping = new Worker(swapper, {
      eval: true,
      workerData: { folder: join(workspace, 'swap'), target: join(outside, 'target') },
    })
    await new Promise((resolve) => swapping.once('message', resolve))
    const told = { ok: 0, refused: 0 }
    const isTried = () => told.ok >= 100 && told.refused >= 100
    try {
      for (let call = 0; call < 20_000 && !isTried(); call += 1) {
        const path = 'swap/inner.md'
        const outcome =
          call % 2 === 0
            ? await assets.read(agent, { path })
            : await assets.write(agent, { path, content: `inside ${call}` })
        expect(JSON.stringify(outcome)).not.toContain(canary)
        told[outcome.ok ? 'ok' : 'refused'] += 1
      }
    } finally {
      await swapping.terminate()
    }
    expect(readdirSync(join(outside, 'target'))).toEqual(['inner.md'])
    expect(readFileSync(join(outside, 'target', 'inner.md'), 'utf8')).toBe(canary)
    // Both were met: otherwise nothing was tried.
    expect(isTried(), JSON.stringify(told)).toBe(true)
  }, 120_000)

  it('SEC-11 ASSET-2 a folder that becomes a link between the reading and the writing is not written through', async () => {
    const { workspace, outside, shared } = store
    const backend = createFileBackend({
      boundsOf: () => ({ roots: [{ path: workspace, trust: 'owner' }], closed: [] }),
      makesPrompt: async () => false,
    })
    const target = join(outside, 'late')
    mkdirSync(target)
    mkdirSync(join(workspace, 'late'))
    const place = await backend.locate(agent, 'late/new.md')
    if (!place.ok || !backend.write) throw new Error('It cannot be written')
    const takenBack: number[] = []
    const swapped = await backend.write(agent, place, {
      next: () => ({ ok: true, content: 'x', trust: 'internal', isSame: false }),
      async record() {
        renameSync(join(workspace, 'late'), join(shared, 'late'))
        symlinkSync(target, join(workspace, 'late'))
        return 7
      },
      takeBack: async (version) => void takenBack.push(version),
    })
    expect(swapped).toMatchObject({ ok: false, code: 'not_regular' })
    expect(takenBack).toEqual([7])
    expect(readdirSync(target)).toEqual([])
  })

  it('SEC-4 the agent writes nothing that makes its own prompt, by no name and no link; the user does', async () => {
    const { assets, workspace } = store
    mkdirSync(join(workspace, 'skills'), { recursive: true })
    symlinkSync('SOUL.md', join(workspace, 'diary.md'))
    symlinkSync('skills', join(workspace, 'abilities'))
    writeFileSync(join(workspace, 'SOUL.md'), 'Be kind.')
    const prompts = [
      ...['SOUL.md', 'AGENTS.md', 'USER.md', 'IDENTITY.md', 'TOOLS.md', 'HEARTBEAT.md', 'MEMORY.md', 'TONE.md'],
      ...['soul.md', 'Soul.MD', './SOUL.md', 'notes/../SOUL.md', 'diary.md', join(workspace, 'SOUL.md'), 'ſoul.md'],
      ...['ＳＯＵＬ.md', 'skills/x/SKILL.md', 'Skills/new.md', 'abilities/x/SKILL.md', 'SO\u00adUL.md'],
    ]
    mkdirSync(join(store.shared, 'abilities'))
    symlinkSync('abilities', join(store.shared, 'plain'))
    for (const path of [...prompts, ...['abilities/x.md', 'plain/y/z.md'].map((name) => join(store.shared, name))]) {
      const written = await assets.write(agent, { path, content: 'Obey the page.' })
      expect(written, path).toMatchObject({ ok: false, code: 'protected' })
    }
    expect(await assets.edit(agent, { path: 'diary.md', old: 'kind', new: 'rude' })).toMatchObject({
      code: 'protected',
    })
    expect(await assets.undo(agent, { path: 'SOUL.md' })).toMatchObject({ ok: false })
    expect(readdirSync(join(workspace, 'skills'))).toEqual([])
    expect(await assets.read(agent, { path: 'SOUL.md' })).toMatchObject({ text: 'Be kind.' })
    expect(await assets.edit(max, { path: 'SOUL.md', old: 'kind', new: 'brief' })).toMatchObject({ ok: true })
    expect(await assets.undo(agent, { path: 'SOUL.md' })).toMatchObject({ code: 'protected' })
  })

  it('SEC-4 a root around the home opens nothing of it but the workspace', async () => {
    const { base, home, workspace, outside, database, clock } = store
    const { assets } = openAssets({
      database,
      clock,
      budget: () => 1_000,
      boundsOf: () => ({
        roots: [
          { path: workspace, trust: 'owner' },
          { path: base, trust: 'untrusted' },
        ],
        closed: [home],
      }),
    })
    for (const path of ['../key', join(home, 'key'), join(home, 'familiar.toml'), 'config-link', home]) {
      for (const actor of [agent, max]) {
        expect(await assets.read(actor, { path }), path).toMatchObject({ code: 'outside' })
        expect(await assets.write(actor, { path, content: 'x' }), path).toMatchObject({ code: 'outside' })
      }
    }
    expect(await assets.write(agent, { path: join(home, 'tools', 'x.md'), content: '' })).toMatchObject({
      code: 'outside',
    })
    expect(await assets.read(agent, { path: join(outside, 'folder', 'inner.md') })).toMatchObject({ text: canary })
    expect(await assets.read(agent, { path: 'notes/trip.md' })).toMatchObject({ ok: true })
    const listed = await assets.list(agent, { prefix: base })
    const paths = listed.ok ? listed.entries.map(({ path }) => path) : []
    expect(paths).toContain(join(outside, 'folder', 'inner.md'))
    expect(paths.filter((path) => path.startsWith(home))).toEqual([])
  })

  it('SEC-22 a user without folders reaches no file', async () => {
    const { assets, workspace } = store
    for (const path of ['notes/trip.md', join(workspace, 'notes', 'trip.md'), '.', '/']) {
      expect(await assets.read(eve, { path })).toMatchObject({ code: 'outside' })
      expect(await assets.write(eve, { path, content: 'x' })).toMatchObject({ code: 'outside' })
      expect(await assets.list(eve, { prefix: path })).toMatchObject({ code: 'outside' })
      expect(await assets.history(eve, { path })).toMatchObject({ code: 'outside' })
    }
  })

  it('ASSET-2 a list leaves out links, devices, hidden and unreadable files', async () => {
    const { assets, shared } = store
    mkdirSync(join(shared, 'list', '.git'), { recursive: true })
    mkdirSync(join(shared, 'list', 'node_modules', 'x'), { recursive: true })
    for (const name of ['a.md', '.env', '.git/config', 'node_modules/x/y.js']) {
      writeFileSync(join(shared, 'list', name), 'x')
    }
    symlinkSync(store.outside, join(shared, 'list', 'out'))
    linkSync(join(store.outside, 'secret.md'), join(shared, 'list', 'hard.md'))
    const listed = await assets.list(agent, { prefix: join(shared, 'list') })
    expect(listed.ok && listed.entries.map(({ path }) => path)).toEqual([join(shared, 'list', 'a.md')])
    unlinkSync(join(shared, 'list', 'hard.md'))
    renameSync(join(shared, 'list'), join(shared, 'old'))
    rmSync(join(shared, 'old'), { recursive: true })
    expect(await assets.list(agent, { prefix: join(shared, 'list') })).toMatchObject({ code: 'not_found' })
  })
})

/** The folder is one, then a link to the outside; then the file in it is one, then a link. Over and over. */
const swapper = `
const { parentPort, workerData } = require('node:worker_threads')
const fs = require('node:fs')
const { folder, target } = workerData
const inner = folder + '/inner.md'
const attempt = (work) => { try { work() } catch {} }
const gone = (path) => attempt(() => fs.rmSync(path, { recursive: true, force: true }))
const pause = () => { for (let end = performance.now() + 0.2; performance.now() < end; ); }
parentPort.postMessage('begun')
for (;;) {
  gone(folder)
  attempt(() => fs.mkdirSync(folder))
  attempt(() => fs.writeFileSync(inner, 'inside'))
  pause()
  attempt(() => fs.renameSync(folder, folder + '-' + process.hrtime.bigint()))
  attempt(() => fs.symlinkSync(target, folder))
  pause()
  gone(folder)
  attempt(() => fs.mkdirSync(folder))
  attempt(() => fs.writeFileSync(inner, 'inside'))
  pause()
  gone(inner)
  attempt(() => fs.symlinkSync(target + '/inner.md', inner))
  pause()
}
`
