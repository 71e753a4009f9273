import { spawnSync } from 'node:child_process'
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { unpackFiles } from './install-voice.ts'

const { signal } = new AbortController()
let folder = ''
let target = ''
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'familiar-tarball-'))
  target = join(folder, 'out')
  mkdirSync(target)
})
afterEach(() => rmSync(folder, { recursive: true }))

function pack(...names: string[]): string {
  const { status } = spawnSync('tar', ['-czf', 'a.tgz', '-P', ...names], { cwd: folder })
  expect(status).toBe(0)
  return join(folder, 'a.tgz')
}

describe('a package’s tarball', () => {
  it('CHAN-4 gives the files that are wanted, whole, and nothing else', async () => {
    const deep = join('package', 'deep', 'x'.repeat(90))
    mkdirSync(join(folder, deep), { recursive: true })
    const large = Buffer.alloc(300_001, 'abc')
    writeFileSync(join(folder, deep, 'large.bin'), large)
    writeFileSync(join(folder, 'package', 'empty'), '')
    writeFileSync(join(folder, 'package', 'other'), 'other')
    const wanted = new Map([
      [`deep/${'x'.repeat(90)}/large.bin`, 'large'],
      ['empty', 'none'],
      ['missing', 'missing'],
    ])
    await unpackFiles({ tarball: pack('--format=ustar', 'package'), wanted, folder: target, signal })
    expect(readdirSync(target).sort()).toEqual(['large', 'none'])
    expect(readFileSync(join(target, 'large')).equals(large)).toBe(true)
  })

  it('SEC-11 nothing is written outside, and no link is made, whatever its names say', async () => {
    mkdirSync(join(folder, 'package'))
    writeFileSync(join(folder, 'evil'), 'evil')
    symlinkSync('/etc/passwd', join(folder, 'package', 'link'))
    const wanted = new Map([['link', 'link']])
    const tarball = pack('package', join(folder, 'evil'), 'package/../evil')
    rmSync(join(folder, 'evil'))
    await unpackFiles({ tarball, wanted, folder: target, signal })
    expect(readdirSync(target)).toEqual([])
    expect(readdirSync(folder).sort()).toEqual(['a.tgz', 'out', 'package'])
  })

  it('CHAN-4 that is cut off throws', async () => {
    mkdirSync(join(folder, 'package'))
    writeFileSync(
      join(folder, 'package', 'a'),
      Buffer.from(Array.from({ length: 50_000 }, (_, index) => (index * 7919) % 251)),
    )
    const tarball = pack('package')
    truncateSync(tarball, 200)
    await expect(unpackFiles({ tarball, wanted: new Map([['a', 'a']]), folder: target, signal })).rejects.toThrow()
  })

  it('CHAN-4 no bytes make it hang or write a name that was not wanted', async () => {
    const file = join(folder, 'any.tgz')
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 2_000 }), async (bytes) => {
        writeFileSync(file, gzipSync(bytes))
        await unpackFiles({ tarball: file, wanted: new Map(), folder: target, signal }).catch(() => undefined)
        expect(readdirSync(target)).toEqual([])
      }),
      { numRuns: 50 },
    )
  })
})
