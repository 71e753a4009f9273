import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ensurePrivateDirectory, writeFileAtomically } from './files.ts'

const isRoot = process.geteuid?.() === 0

let directory: string
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'familiar-files-'))
})
afterEach(() => rmSync(directory, { recursive: true, force: true }))

function modeOf(path: string): number {
  return statSync(path).mode & 0o7777
}

describe('writeFileAtomically', () => {
  test('SEC-20 replaces the content and leaves nothing else behind', async () => {
    const path = join(directory, 'monitor.json')
    await writeFileAtomically(path, 'one')
    await writeFileAtomically(path, new TextEncoder().encode('two'))
    expect(readFileSync(path, 'utf8')).toBe('two')
    expect(readdirSync(directory)).toEqual(['monitor.json'])
  })

  test('SEC-21 the file is accessible to its owner only, whatever the umask; another mode can be requested', async () => {
    const umask = process.umask(0o777)
    try {
      await writeFileAtomically(join(directory, 'private'), '')
      await writeFileAtomically(join(directory, 'program'), '', 0o755)
    } finally {
      process.umask(umask)
    }
    expect(modeOf(join(directory, 'private'))).toBe(0o600)
    expect(modeOf(join(directory, 'program'))).toBe(0o755)
  })

  test('SEC-20 a failure keeps the old content and removes the temporary file', async () => {
    const path = join(directory, 'taken')
    mkdirSync(join(path, 'inside'), { recursive: true })
    await expect(writeFileAtomically(path, 'new')).rejects.toThrow()
    expect(readdirSync(directory)).toEqual(['taken'])
    expect(readdirSync(path)).toEqual(['inside'])
  })

  test('SEC-21 a symlink is replaced, its target untouched', async () => {
    const target = join(directory, 'target')
    writeFileSync(target, 'precious')
    symlinkSync(target, join(directory, 'link'))
    await writeFileAtomically(join(directory, 'link'), 'new')
    expect(readFileSync(target, 'utf8')).toBe('precious')
    expect(readFileSync(join(directory, 'link'), 'utf8')).toBe('new')
  })
})

describe('ensurePrivateDirectory', () => {
  test('SEC-21 creates it, with its parents, for the owner only', async () => {
    const home = join(directory, 'a', 'home')
    await ensurePrivateDirectory(home)
    await ensurePrivateDirectory(home)
    expect(modeOf(home)).toBe(0o700)
  })

  test('SEC-21 restricts one that was open to others', async () => {
    const home = join(directory, 'home')
    mkdirSync(home)
    chmodSync(home, 0o755)
    await ensurePrivateDirectory(home)
    expect(modeOf(home)).toBe(0o700)
  })

  test.each(['', '/'])('SEC-21 rejects a symlink (written with "%s" at its end)', async (end) => {
    mkdirSync(join(directory, 'real'))
    symlinkSync(join(directory, 'real'), join(directory, 'home'))
    await expect(ensurePrivateDirectory(`${join(directory, 'home')}${end}`)).rejects.toThrow(/is a symlink/)
  })

  test('SEC-21 rejects a directory that all users share, and leaves it unchanged', async () => {
    const shared = join(directory, 'shared')
    mkdirSync(shared)
    chmodSync(shared, 0o1777)
    await expect(ensurePrivateDirectory(shared)).rejects.toThrow(/is shared/)
    expect(modeOf(shared)).toBe(0o1777)
  })

  test('SEC-21 rejects a file, and a path below a file', async () => {
    writeFileSync(join(directory, 'file'), '')
    await expect(ensurePrivateDirectory(join(directory, 'file'))).rejects.toThrow(/is not a directory/)
    await expect(ensurePrivateDirectory(join(directory, 'file', 'home'))).rejects.toThrow(
      /cannot be written \(ENOTDIR\)/,
    )
  })

  test.runIf(isRoot)('SEC-21 rejects one that belongs to another user', async () => {
    await asNobody(async () => {
      await expect(ensurePrivateDirectory(directory)).rejects.toThrow(/belongs to another user/)
    })
  })

  test('SEC-21 reports that it cannot be created', async () => {
    chmodSync(directory, 0o555)
    await asNobody(async () => {
      await expect(ensurePrivateDirectory(join(directory, 'home'))).rejects.toThrow(/cannot be written \(EACCES\)/)
    })
  })

  test('SEC-21 reports that it cannot be written', async () => {
    chmodSync(directory, 0o777)
    const home = join(directory, 'home')
    await asNobody(async () => {
      mkdirSync(home)
      chmodSync(home, 0o500)
      await expect(ensurePrivateDirectory(home)).rejects.toThrow(/cannot be written \(EACCES\)/)
    })
  })
})

/** Permissions do not bind root, so root switches to another user for the check. */
async function asNobody(check: () => Promise<void>): Promise<void> {
  if (!isRoot) return check()
  process.seteuid?.(65534)
  try {
    await check()
  } finally {
    process.seteuid?.(0)
  }
}
