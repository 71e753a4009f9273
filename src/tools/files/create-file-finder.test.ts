import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../base/clock.ts'
import { createFileFinder, type FileFinder, findBlocks, referenceTo } from './finders.ts'
import { findReferences } from './references.ts'

let home: string
let root: string
let finder: FileFinder

function put(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
}

async function all(query = ''): Promise<string[]> {
  await finder.refresh()
  const { found } = await finder.find({ query, limit: 100 })
  return found.map(({ name }) => name).sort()
}

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'familiar-finder-'))
  root = join(home, 'workspace')
  mkdirSync(root)
  finder = createFileFinder({ roots: [root], closed: [], clock: systemClock() })
})
afterEach(async () => {
  await finder.close()
  rmSync(home, { recursive: true, force: true })
})

describe('the files under a root', () => {
  it('ASSET-6 finds files by some letters, with their reference in a message', async () => {
    put({ 'notes/meeting notes.md': '', 'notes/plan.md': '', 'src/main.ts': '' })
    await finder.refresh()
    const { found, total, isIndexing } = await finder.find({ query: 'mn', limit: 1 })
    expect({ found, total, isIndexing }).toEqual({
      found: [{ name: 'notes/meeting notes.md', reference: '@"notes/meeting notes.md"' }],
      total: 2,
      isIndexing: false,
    })
  })

  it('ASSET-6 an early answer says that it is incomplete, and the next one is complete', async () => {
    put({ 'a.md': '' })
    await expect
      .poll(() => finder.find({ query: 'a', limit: 5 }), { timeout: 20_000 })
      .toEqual({ found: [{ name: 'a.md', reference: '@a.md' }], total: 1, isIndexing: false, isCut: false })
  })

  it('ASSET-6 repeated reading does not accumulate memory', async () => {
    put(Object.fromEntries(Array.from({ length: 600 }, (_, index) => [`x/${index % 7}/${index}.md`, ''])))
    for (let round = 0; round < 6; round += 1) {
      put({ [`x/${round}/new.md`]: '' })
      rmSync(join(root, `x/${round}/${round}.md`))
      await finder.refresh()
      const { total } = await finder.find({ query: 'x', limit: 5 })
      expect(total).toBe(600)
    }
    const { found } = await finder.find({ query: 'new', limit: 10 })
    expect(found.map(({ name }) => name)).toEqual([0, 1, 2, 3, 4, 5].map((round) => `x/${round}/new.md`))
  })

  it('ASSET-6 skips ignored files, nested and negated, and the git folder', async () => {
    put({
      '.gitignore': 'dist/\n*.log\n!keep.log\n',
      '.git/config': '',
      '.git/info/exclude': 'mine.txt\n',
      'mine.txt': '',
      'a.log': '',
      'keep.log': '',
      'dist/x.js': '',
      'src/.gitignore': '/generated\n!b.log\n',
      'src/b.log': '',
      'src/generated/x.ts': '',
      'src/deep/generated/x.ts': '',
      // A nested repository has its own rules.
      'vendor/.git': 'gitdir: elsewhere\n',
      'vendor/c.log': '',
    })
    expect(await all()).toEqual([
      '.gitignore',
      'keep.log',
      'src/.gitignore',
      'src/b.log',
      'src/deep/generated/x.ts',
      'vendor/c.log',
    ])
  })

  it('ASSET-6 follows files and folders that are added, removed and moved', async () => {
    put({ 'a.md': '', 'x/b.md': '', 'x/y/c.md': '' })
    expect(await all()).toEqual(['a.md', 'x/b.md', 'x/y/c.md'])
    put({ 'x/d.md': '' })
    rmSync(join(root, 'a.md'))
    expect(await all()).toEqual(['x/b.md', 'x/d.md', 'x/y/c.md'])
    renameSync(join(root, 'x/y'), join(root, 'z'))
    expect(await all()).toEqual(['x/b.md', 'x/d.md', 'z/c.md'])
    rmSync(join(root, 'x'), { recursive: true })
    expect(await all()).toEqual(['z/c.md'])
    rmSync(root, { recursive: true })
    expect(await all()).toEqual([])
    put({ 'again.md': '' })
    expect(await all()).toEqual(['again.md'])
  })

  it('ASSET-6 follows changed rules', async () => {
    put({ '.gitignore': '*.log', 'x/a.log': '', 'x/b.txt': '' })
    expect(await all()).toEqual(['.gitignore', 'x/b.txt'])
    put({ '.gitignore': '*.txt\n' })
    expect(await all()).toEqual(['.gitignore', 'x/a.log'])
    rmSync(join(root, '.gitignore'))
    expect(await all()).toEqual(['x/a.log', 'x/b.txt'])
  })

  it('ASSET-6 notices changes by itself, with a delay', async () => {
    put({ 'a.md': '' })
    expect(await all()).toEqual(['a.md'])
    put({ 'b.md': '' })
    await expect.poll(async () => (await finder.find({ query: 'b', limit: 5 })).total, { timeout: 20_000 }).toBe(1)
  })

  it('ASSET-2 shows nothing behind a symlink, even one that replaces a folder', async () => {
    put({ 'x/a.md': '' })
    const outside = join(home, 'outside')
    mkdirSync(outside)
    writeFileSync(join(outside, 'secret.md'), '')
    symlinkSync(outside, join(root, 'link'))
    symlinkSync(join(outside, 'secret.md'), join(root, 'file-link.md'))
    expect(await all()).toEqual(['x/a.md'])
    rmSync(join(root, 'x'), { recursive: true })
    symlinkSync(outside, join(root, 'x'))
    expect(await all()).toEqual([])
  })

  it('ASSET-2 shows nothing of a closed folder, and all of a root inside it', async () => {
    put({ 'a.md': '', 'home/key': '', 'home/data/x.db': '', 'home/workspace/b.md': '' })
    const inner = join(root, 'home/workspace')
    const link = join(home, 'link')
    symlinkSync(join(root, 'home'), link)
    await finder.close()
    finder = createFileFinder({ roots: [inner, root], closed: [link], clock: systemClock() })
    expect(await all()).toEqual(['a.md', 'b.md'])
  })

  it('ASSET-6 a root may be a symlink, missing, or one of several', async () => {
    put({ 'a.md': '' })
    const link = join(home, 'link')
    symlinkSync(root, link)
    const other = join(home, 'other')
    mkdirSync(other)
    writeFileSync(join(other, 'ab.md'), '')
    await finder.close()
    finder = createFileFinder({ roots: [link, join(home, 'none'), other], closed: [], clock: systemClock() })
    await finder.refresh()
    const { found } = await finder.find({ query: 'a', limit: 5 })
    expect(found).toEqual([
      { name: 'a.md', reference: '@a.md' },
      { name: 'ab.md', reference: `@${other}/ab.md` },
    ])
  })

  it('ASSET-6 keeps a limited number of files and reports that there are more', async () => {
    put({ 'a.md': '', 'b.md': '', 'c.md': '' })
    await finder.close()
    finder = createFileFinder({ roots: [root], closed: [], clock: systemClock(), maxFiles: 2 })
    await finder.refresh()
    const { total, isCut } = await finder.find({ query: '', limit: 5 })
    expect({ total, isCut }).toEqual({ total: 2, isCut: true })
  })

  it('ASSET-6 rejects an aborted request, or one after the end', async () => {
    const leaving = new AbortController()
    const asked = finder.find({ query: 'a', limit: 5, signal: leaving.signal })
    leaving.abort(new Error('gone'))
    await expect(asked).rejects.toThrow('gone')
    await finder.close()
    await expect(finder.find({ query: 'a', limit: 5 })).rejects.toThrow('has stopped')
  })
})

describe('the reference in a message', () => {
  it('ASSET-6 is parsed back to the same path', () => {
    const paths = fc.string({
      unit: fc.constantFrom('a', 'B', '7', 'ü', '日', ' ', '.', '/', '-', '_', '(', ')', ',', "'", '@', '`', '…'),
      minLength: 1,
    })
    fc.assert(
      fc.property(
        paths.filter((path) => /[aB7ü日]/.test(path)),
        fc.constantFrom('file' as const, 'block' as const),
        (path, kind) => {
          expect(findReferences(`see ${referenceTo(kind, path)}, then`)).toMatchObject([{ kind, path }])
        },
      ),
    )
  })

  it('ASSET-6 blocks are found by their labels', () => {
    const labels = ['plan.md', 'auth-patterns.md', 'my plan.md']
    expect(findBlocks(labels, { query: 'plan', limit: 5 })).toEqual({
      found: [
        { name: 'plan.md', reference: '@@plan.md' },
        { name: 'my plan.md', reference: '@@"my plan.md"' },
      ],
      total: 2,
      isIndexing: false,
      isCut: false,
    })
  })
})
