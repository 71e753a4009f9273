import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type AssetStore, agentOfMax, eve, max, openAssetStore } from '../../../test/support/asset-store.ts'
import { blockUri } from './pins.ts'

let store: AssetStore
beforeEach(async () => {
  store = await openAssetStore()
})
afterEach(() => store.close())

const agent = agentOfMax()

async function versionsOf(path: string): Promise<[number, string | null, string][]> {
  const found = await store.assets.history(max, { path })
  if (!found.ok) throw new Error(found.message)
  return found.versions.map(({ version, content, author }) => [version, content, author])
}

describe('versions', () => {
  it.each(['x.md', 'familiar:///blocks/x.md'])(
    'ASSET-7 every state of %s is kept, by author, and can be restored',
    async (path) => {
      for (const content of ['one', 'two', 'three']) await store.assets.write(agent, { path, content })
      await store.assets.edit(max, { path, old: 'three', new: 'four' })
      expect(await versionsOf(path)).toEqual([
        [4, 'four', 'user'],
        [3, 'three', 'agent'],
        [2, 'two', 'agent'],
        [1, 'one', 'agent'],
        [0, null, 'user'],
      ])
      expect(await store.assets.undo(max, { path, version: 1 })).toMatchObject({ restored: 1, version: 5 })
      expect(await store.assets.load(max, { path })).toMatchObject({ content: 'one' })
      // Undone like any change: nothing was lost by it.
      expect(await store.assets.undo(max, { path })).toMatchObject({ restored: 4, version: 6 })
      expect(await store.assets.load(max, { path })).toMatchObject({ content: 'four', version: 6 })
    },
  )

  it('ASSET-7 a change in an editor is kept too', async () => {
    writeFileSync(join(store.workspace, 'x.md'), 'as found')
    await store.assets.write(agent, { path: 'x.md', content: 'by the agent' })
    writeFileSync(join(store.workspace, 'x.md'), 'by an editor')
    // The first undo restores the last known state before the editor.
    expect(await store.assets.undo(max, { path: 'x.md' })).toMatchObject({ restored: 1 })
    expect(await versionsOf('x.md')).toEqual([
      [3, 'by the agent', 'user'],
      [2, 'by an editor', 'user'],
      [1, 'by the agent', 'agent'],
      [0, 'as found', 'user'],
    ])
  })

  it.each(['x.md', 'familiar:///blocks/x.md'])('ASSET-7 keeps the newest fifty versions of %s', async (path) => {
    for (let version = 1; version <= 60; version += 1) await store.assets.write(agent, { path, content: `${version}` })
    const kept = await versionsOf(path)
    expect(kept).toHaveLength(50)
    expect(kept[0]).toEqual([60, '60', 'agent'])
    expect(kept.at(-1)).toEqual([11, '11', 'agent'])
  })

  it('ASSET-7 a failed change leaves no version', async () => {
    const { assets, workspace } = store
    await assets.write(agent, { path: 'x.md', content: 'one' })
    mkdirSync(join(workspace, 'long'))
    // The name of its temporary file exceeds the limit of the file system.
    const path = `long/${'n'.repeat(250)}`
    expect(await assets.write(agent, { path, content: 'x' })).toMatchObject({ code: 'invalid_path' })
    expect(await assets.history(max, { path })).toMatchObject({ versions: [{ version: 0, content: null }] })
    expect(readdirSync(join(workspace, 'long'))).toEqual([])
  })

  it("SEC-22 another user's block does not exist, with its history and its undo", async () => {
    const path = blockUri('x.md')
    await store.assets.write(max, { path, content: 'mine' })
    await store.assets.write(max, { path, content: 'mine again' })
    const { assets } = store
    for (const outcome of [
      await assets.read(eve, { path }),
      await assets.stat(eve, { path }),
      await assets.edit(eve, { path, old: 'mine', new: 'hers' }),
      await assets.history(eve, { path }),
    ]) {
      expect(outcome).toMatchObject({ code: 'not_found' })
    }
    expect(await assets.undo(eve, { path })).toMatchObject({ code: 'no_version' })
    expect(await assets.list(eve, { prefix: 'familiar://' })).toMatchObject({ entries: [] })
    await assets.write(eve, { path, content: 'hers' })
    expect(await assets.load(max, { path })).toMatchObject({ content: 'mine again' })
  })
})

describe('concurrent writers', () => {
  it.each(['x.md', 'familiar:///blocks/x.md'])('ASSET-7 of those who saw the same %s one writes', async (path) => {
    await store.assets.write(max, { path, content: 'start' })
    const seen = await store.assets.load(max, { path })
    const etag = seen.ok ? seen.etag : ''
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, index) => store.assets.write(agent, { path, content: `by ${index}`, etag })),
    )
    expect(outcomes.filter(({ ok }) => ok)).toHaveLength(1)
    const now = await store.assets.load(max, { path })
    for (const outcome of outcomes.filter(({ ok }) => !ok)) {
      expect(outcome).toMatchObject({ code: 'conflict', etag: now.ok && now.etag })
    }
  })

  it.each(['x.md', 'familiar:///blocks/x.md'])('ASSET-7 no edit of %s is lost', async (path) => {
    await store.assets.write(max, { path, content: 'start\n' })
    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        store.assets.edit(agent, { path, old: 'start\n', new: `start\nline ${index}\n` }),
      ),
    )
    const loaded = await store.assets.load(max, { path })
    expect(
      loaded.ok &&
        loaded.content
          .split('\n')
          .filter((line) => line.startsWith('line'))
          .sort(),
    ).toHaveLength(40)
  })
})

describe('trust', () => {
  it('SEC-6 a workspace file is trusted, another one untrusted, and untrusted text stays so', async () => {
    const { assets, workspace, shared } = store
    writeFileSync(join(workspace, 'x.md'), 'mine')
    writeFileSync(join(shared, 'x.md'), 'anybody’s')
    expect(await assets.read(agent, { path: 'x.md' })).toMatchObject({ trust: 'owner' })
    expect(await assets.read(agent, { path: join(shared, 'x.md') })).toMatchObject({ trust: 'untrusted' })
    await assets.write(agentOfMax('untrusted'), { path: 'x.md', content: 'of a page' })
    await assets.edit(max, { path: 'x.md', old: 'of', new: 'from' })
    writeFileSync(join(workspace, 'x.md'), 'from a page, and an editor')
    expect(await assets.read(agent, { path: 'x.md' })).toMatchObject({ trust: 'untrusted' })
    // Repeating the same text by the agent does not change its trust.
    await assets.write(agent, { path: 'x.md', content: 'from a page, and an editor' })
    expect(await assets.read(agent, { path: 'x.md' })).toMatchObject({ trust: 'untrusted' })
    await assets.write(max, { path: 'x.md', content: 'from a page, and an editor' })
    expect(await assets.read(agent, { path: 'x.md' })).toMatchObject({ trust: 'owner' })
  })
})

describe('existing files', () => {
  it.each([
    ['binary', 'a\u0000b'],
    ['binary', new Uint8Array([0xff, 0xfe, 0x41, 0x00])],
    ['binary', new Uint8Array([0x63, 0x61, 0x66, 0xe9])],
    ['too_large', 'x'.repeat(2_000_001)],
  ])('ASSET-1 %s is neither edited nor overwritten', async (code, content) => {
    const file = join(store.workspace, 'x.bin')
    writeFileSync(file, content)
    const before = readFileSync(file)
    expect(await store.assets.edit(agent, { path: 'x.bin', old: 'a', new: 'b' })).toMatchObject({ code })
    expect(await store.assets.write(agent, { path: 'x.bin', content: 'new' })).toMatchObject({ code })
    expect(readFileSync(file).equals(before)).toBe(true)
  })

  it('ASSET-1 reads a file of 50 MB by lines', async () => {
    writeFileSync(join(store.workspace, 'x.log'), 'a line of a log\n'.repeat(3_200_000))
    const read = await store.assets.read(agent, { path: 'x.log', offset: 3_199_999 })
    expect(read).toMatchObject({ lines: 3_200_000, text: 'a line of a log\n'.repeat(2), note: null })
    chmodSync(join(store.workspace, 'x.log'), 0o600)
    writeFileSync(join(store.workspace, 'x.log'), 'x'.repeat(64_000_001))
    expect(await store.assets.read(agent, { path: 'x.log' })).toMatchObject({ code: 'too_large' })
  })

  it('ASSET-1 reports a folder as such', async () => {
    mkdirSync(join(store.workspace, 'folder'))
    for (const path of ['folder', '.', 'folder/']) {
      expect(await store.assets.read(agent, { path })).toMatchObject({ code: 'is_directory' })
      expect(await store.assets.write(agent, { path, content: 'x' })).toMatchObject({ code: 'is_directory' })
    }
  })
})
