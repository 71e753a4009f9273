import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { skillText } from '../support/skills.ts'
import { cleanUp, familiar, familiarJson, newHome, temporaryDirectory } from './cli-process.ts'

afterEach(cleanUp)

function openclaw(): string {
  const root = temporaryDirectory()
  const files = {
    'openclaw.json': '{"key": "x"}',
    'workspace/SOUL.md': 'Kind.\n',
    'workspace/memory/2026-01-02.md': '# Friday\n\nThe spare key is with Ruth.\n',
    'workspace/skills/weather/SKILL.md': skillText('weather'),
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return root
}

/** A home that needs no model of meaning. */
function plainHome(): string {
  const home = newHome()
  mkdirSync(home, { recursive: true, mode: 0o700 })
  writeFileSync(join(home, 'familiar.toml'), '[memory.embedding]\nprovider = "off"\n', { mode: 0o600 })
  return home
}

describe('familiar import', () => {
  it('IMPORT-1 shows, asks, brings in and indexes, and can be undone', async () => {
    const [home, source] = [plainHome(), openclaw()]
    const shown = await familiarJson(['import', 'openclaw', source], { home })
    expect(shown).toMatchObject({ plan: { files: [{ to: 'SOUL.md' }, { to: 'memory/2026-01-02.md' }] }, done: null })
    const unasked = await familiar(['import', 'openclaw', source], { home })
    expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('pass --yes to confirm') })
    expect(unasked.stdout).toContain('openclaw.json')
    const done = await familiar(['import', 'openclaw', source, '--yes'], { home })
    expect(done).toMatchObject({ code: 0, stdout: expect.stringContaining('3 files written.') })
    expect(done.stderr).toContain('familiar skills enable weather')
    const soul = join(home, 'workspace', 'SOUL.md')
    expect(readFileSync(soul, 'utf8')).toBe('Kind.\n')
    const found = await familiar(['memory', 'search', 'where is the spare key?'], { home })
    expect(found.stdout).toContain('Ruth')

    const record = /familiar import undo (\S+)/.exec(done.stdout)?.[1] ?? ''
    expect(await familiarJson(['import', 'undo', record], { home })).toMatchObject({
      removed: ['skills/imported/weather/SKILL.md', 'memory/2026-01-02.md', 'SOUL.md'],
      kept: [],
    })
    expect(readFileSync(soul, 'utf8')).not.toContain('Kind.')
  })

  it('IMPORT-1 explains invalid arguments', async () => {
    const home = plainHome()
    const nowhere = await familiar(['import', 'hermes', '/nowhere/at-all'], { home })
    expect(nowhere).toMatchObject({ code: 2, stderr: expect.stringContaining('There is nothing at /nowhere/at-all.') })
    const list = await familiar(['import', 'undo', join(home, 'familiar.toml')], { home })
    expect(list).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a record of an import') })
  })
})
