import { mkdirSync, mkdtempSync, realpathSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { namesBelow, openFolder, realPathOf } from './files.ts'

let base: string
let root: string
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'familiar-folder-')))
  root = join(base, 'root')
  mkdirSync(join(root, 'a', 'b'), { recursive: true })
  mkdirSync(join(base, 'outside'))
  writeFileSync(join(base, 'outside', 'secret'), 'secret')
  writeFileSync(join(root, 'a', 'b', 'x'), 'inside')
})
afterEach(() => rmSync(base, { recursive: true, force: true }))

const text = (bytes: Uint8Array | undefined) => bytes && Buffer.from(bytes).toString()

describe('an open folder', () => {
  it('SEC-11 no step follows a link, and nothing is created through one', async () => {
    symlinkSync(join(base, 'outside'), join(root, 'link'))
    symlinkSync('a', join(root, 'inner-link'))
    for (const names of [['link'], ['inner-link', 'b'], ['a', 'b', 'x'], ['link', 'new']]) {
      for (const make of [false, true]) await expect(openFolder(root, names, { make })).rejects.toThrow(/ENOTDIR|ELOOP/)
    }
  })

  it('SEC-11 a link is not read, and is replaced instead of written through', async () => {
    symlinkSync(join(base, 'outside', 'secret'), join(root, 'a', 'link'))
    const folder = await openFolder(root, ['a'])
    await expect(folder.read('link', 100)).rejects.toThrow(/ELOOP/)
    await folder.write('link', 'mine')
    expect(text((await folder.read('link', 100)).bytes)).toBe('mine')
    await folder.close()
    const outside = await openFolder(base, ['outside'])
    expect(text((await outside.read('secret', 100)).bytes)).toBe('secret')
    await outside.close()
  })

  it('SEC-11 an open folder stays the same whatever replaces its path, and detects that it was moved', async () => {
    const folder = await openFolder(root, ['a', 'b'])
    expect(await folder.isInPlace()).toBe(true)
    renameSync(join(root, 'a'), join(root, 'old'))
    symlinkSync(join(base, 'outside'), join(root, 'a'))
    expect(text((await folder.read('x', 100)).bytes)).toBe('inside')
    await folder.write('y', 'new')
    expect(await folder.names()).toEqual(['x', 'y'])
    renameSync(join(root, 'old'), join(base, 'outside', 'old'))
    expect(await folder.isInPlace()).toBe(false)
    await folder.close()
  })

  it('reads no more than requested', async () => {
    const folder = await openFolder(root, ['a', 'b'])
    expect((await folder.read('x', 5)).bytes).toBeUndefined()
    expect((await folder.read('x', 6)).bytes).toHaveLength(6)
    await folder.close()
  })
})

it('lists the names below a folder, and finds the real path of a missing file', async () => {
  expect(namesBelow('/a', '/a')).toEqual([])
  expect(namesBelow('/a', '/a/..b/c')).toEqual(['..b', 'c'])
  for (const outside of ['/', '/ab', '/b', '/a/..']) expect(namesBelow('/a', outside)).toBeUndefined()
  symlinkSync('a', join(root, 'link'))
  expect(await realPathOf(join(root, 'link', 'nothing', 'there'))).toBe(join(root, 'a', 'nothing', 'there'))
})
