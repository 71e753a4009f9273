import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { tarDirectory } from './engine.ts'

describe('tarDirectory', () => {
  let root: string
  let source: string

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'familiar-tar-'))
    source = join(root, 'source')
    mkdirSync(source)
  })
  afterEach(() => rmSync(root, { recursive: true }))

  /** Unpacks it with the system's tar. */
  async function unpacked(): Promise<string> {
    const target = join(root, 'target')
    mkdirSync(target)
    execFileSync('tar', ['-x', '-C', target], { input: await buffer(tarDirectory(source)) })
    return target
  }

  it('TOOL-5 packs files, folders and links as the system unpacks them', async () => {
    const long = `${'d'.repeat(90)}/${'e'.repeat(90)}/${'f'.repeat(90)}`
    mkdirSync(join(source, long), { recursive: true })
    mkdirSync(join(source, 'empty'))
    const sizes = [0, 1, 511, 512, 513, 200_000]
    for (const size of sizes) writeFileSync(join(source, `size-${size}`), Buffer.alloc(size, `${size} `))
    writeFileSync(join(source, long, 'Grüße 🦊.txt'), 'far down')
    writeFileSync(join(source, 'runner.sh'), '#!/bin/sh')
    chmodSync(join(source, 'runner.sh'), 0o700)
    symlinkSync('runner.sh', join(source, 'link'))
    symlinkSync(`/${'x'.repeat(150)}`, join(source, 'long-link'))

    const target = await unpacked()
    for (const size of sizes) {
      expect(readFileSync(join(target, `size-${size}`))).toEqual(readFileSync(join(source, `size-${size}`)))
    }
    expect(readFileSync(join(target, long, 'Grüße 🦊.txt'), 'utf8')).toBe('far down')
    expect(readdirSync(join(target, 'empty'))).toEqual([])
    expect(statSync(join(target, 'runner.sh')).mode & 0o777).toBe(0o755)
    expect(readlinkSync(join(target, 'link'))).toBe('runner.sh')
    expect(readlinkSync(join(target, 'long-link'))).toBe(`/${'x'.repeat(150)}`)
  })

  it('SEC-11 sends a link as a link, without its target', async () => {
    writeFileSync(join(root, 'secret'), 'not for the image')
    symlinkSync(join(root, 'secret'), join(source, 'link'))
    symlinkSync(root, join(source, 'folder'))
    expect((await buffer(tarDirectory(source))).includes('not for the image')).toBe(false)
  })

  it('gives the same bytes for the same files, and omits the git history of a tool', async () => {
    writeFileSync(join(source, 'a'), 'same')
    const first = await buffer(tarDirectory(source))
    mkdirSync(join(source, '.git'))
    writeFileSync(join(source, '.git', 'HEAD'), 'x')
    chmodSync(join(source, 'a'), 0o600)
    expect(Buffer.compare(await buffer(tarDirectory(source)), first)).toBe(0)
  })
})
