import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyPatch } from 'diff'
import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { diffFiles } from './diff-files.ts'

const filesOf = (files: Record<string, string | Uint8Array>) =>
  new Map(Object.entries(files).map(([path, content]) => [path, Buffer.from(content)]))
const diff = async (from: Record<string, string | Uint8Array>, to: Record<string, string | Uint8Array>) => {
  const differences = await diffFiles({ label: 'v1', files: filesOf(from) }, { label: 'v2', files: filesOf(to) })
  return differences.map(({ text }) => text).join('')
}

describe('diffFiles', () => {
  const folder = mkdtempSync(join(tmpdir(), 'familiar-diff-'))
  afterAll(() => rmSync(folder, { recursive: true }))

  it('CAP-8 tells what was changed, added and taken away, and leaves the lock out', async () => {
    const before = { 'main.py': 'a\nb\nc\n', 'old.txt': 'x\n', 'same.txt': 's', 'lock.json': '1' }
    const after = { 'main.py': 'a\nB\nc\nd', 'new.txt': 'y\n', 'same.txt': 's', 'lock.json': '2' }
    expect(await diff(before, after)).toBe(
      [
        '--- v1/main.py',
        '+++ v2/main.py',
        '@@ -1,3 +1,4 @@',
        ' a',
        '-b',
        '+B',
        ' c',
        '+d',
        '\\ No newline at end of file',
        '--- /dev/null',
        '+++ v2/new.txt',
        '@@ -0,0 +1 @@',
        '+y',
        '--- v1/old.txt',
        '+++ /dev/null',
        '@@ -1 +0,0 @@',
        '-x',
        '',
      ].join('\n'),
    )
    expect(await diff(before, before)).toBe('')
    expect(await diff({ 'a.bin': Uint8Array.of(255) }, { 'a.bin': Uint8Array.of(254) })).toBe(
      'Binary files v1/a.bin and v2/a.bin differ\n',
    )
  })

  it('CAP-8 shows changes that lie apart in hunks of their own, which patch understands', async () => {
    const lines = Array.from({ length: 40 }, (_, index) => `line ${index}`)
    const changed = lines.with(3, 'three').with(30, 'thirty').toSpliced(20, 1)
    const text = await diff({ 'a.txt': `${lines.join('\n')}\n` }, { 'a.txt': `${changed.join('\n')}\n` })
    expect(text.match(/^@@/gm)).toHaveLength(3)
    mkdirSync(join(folder, 'x'), { recursive: true })
    writeFileSync(join(folder, 'x', 'a.txt'), `${lines.join('\n')}\n`)
    execFileSync('git', ['apply', '-p1', '--unsafe-paths', '-'], { cwd: join(folder, 'x'), input: text })
    expect(readFileSync(join(folder, 'x', 'a.txt'), 'utf8')).toBe(`${changed.join('\n')}\n`)
  })

  it('CAP-8 is a way from one side to the other, whatever they hold', async () => {
    const text = fc.array(fc.constantFrom('a', 'b', 'c', ''), { maxLength: 30 }).map((lines) => lines.join('\n'))
    await fc.assert(
      fc.asyncProperty(text, text, async (before, after) => {
        const patch = await diff({ 'a.txt': before }, { 'a.txt': after })
        expect(before === after || applyPatch(before, patch)).toBe(before === after || after)
      }),
    )
    const many = Array.from({ length: 3_000 }, (_, index) => `old ${index}`).join('\n')
    const other = Array.from({ length: 3_000 }, (_, index) => `new ${index}`).join('\n')
    const patch = await diff({ 'a.txt': many }, { 'a.txt': other })
    expect(patch.match(/^[-+](?:old|new) /gm)).toHaveLength(6_000)
    expect(applyPatch(many, patch)).toBe(other)
  })
})
