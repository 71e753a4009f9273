import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startFamiliarAt } from '../support/installed-familiar.ts'

const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'familiar-clone-'))
const origin = join(folder, 'origin')
const migrations = 'src/storage/migrations/all-migrations.ts'

const git = (where: string, ...words: string[]) => {
  const who = ['-c', 'user.name=Test', '-c', 'user.email=test@example.org']
  return execFileSync('git', [...who, ...words], { cwd: where, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
}

/** A commit in the repository that clones are updated from. */
function release(version: string, changes: Record<string, (text: string) => string> = {}): void {
  const setVersion = (text: string) => JSON.stringify({ ...JSON.parse(text), version }, null, 2)
  for (const [path, change] of Object.entries({ 'package.json': setVersion, ...changes })) {
    writeFileSync(join(origin, path), change(readFileSync(join(origin, path), 'utf8')))
  }
  git(origin, 'add', '--all', '--force')
  git(origin, 'commit', '--quiet', '--message', version)
}

beforeAll(() => {
  mkdirSync(origin)
  // The program alone. Without a lock file the launcher takes the dependencies that are there: those of this repository.
  for (const part of ['bin', 'scripts', 'src', 'package.json', 'tsconfig.json', '.gitignore']) {
    cpSync(join(root, part), join(origin, part), { recursive: true })
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  git(origin, 'init', '--quiet', '--initial-branch', 'main')
  release('1.0.0')
}, 60_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }), 60_000)

function cloneFamiliar() {
  const place = mkdtempSync(join(folder, 'try-'))
  const home = join(place, 'home')
  mkdirSync(home)
  git(place, 'clone', '--quiet', origin, 'clone')
  const clone = join(place, 'clone')
  const familiar = startFamiliarAt({ command: join(clone, 'bin', 'familiar'), home })
  return { clone, familiar, inHome: (...parts: string[]) => join(home, '.familiar', ...parts) }
}

const rowsWith = (path: string, word: string) => {
  const raw = new DatabaseSync(path, { readOnly: true })
  try {
    return raw.prepare('select count(*) as count from memories where content like ?').get(`%${word}%`)?.count
  } finally {
    raw.close()
  }
}

// Each starts a handful of programs: on a busy machine that takes its time.
describe('familiar update --rollback in a clone', { timeout: 300_000 }, () => {
  it('PACK-2 goes back to the version before and keeps the database where its tables are the same, then says that there is no more', async () => {
    const { clone, familiar } = cloneFamiliar()
    const before = git(clone, 'rev-parse', 'HEAD')
    await familiar(['send', '--message', 'Remember that I like tea'])
    const none = await familiar(['update', '--rollback', '--yes'])
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('There is nothing to go back to') })

    release('1.1.0')
    expect(await familiar(['update'])).toMatchObject({ code: 0, stdout: expect.stringContaining('update --rollback') })
    expect((await familiar(['--version'])).stdout).toBe('1.1.0\n')
    await familiar(['send', '--message', 'Remember that I like coffee'])

    const back = await familiar(['update', '--rollback', '--yes', '--json'])
    expect(back).toMatchObject({ code: 0 })
    expect(JSON.parse(back.stdout)).toMatchObject({ ok: true, from: '1.1.0', to: '1.0.0', kept_aside: null })
    expect((await familiar(['--version'])).stdout).toBe('1.0.0\n')
    expect(git(clone, 'rev-parse', 'HEAD')).toBe(before)
    expect(git(clone, 'status', '--porcelain')).toBe('')
    expect((await familiar(['send', '--message', 'What do I like?'])).stdout).toMatch(/coffee|tea/)
    expect(await familiar(['update', '--rollback', '--yes'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is nothing to go back to'),
    })
    expect((await familiar(['update', '--check'])).stdout).toContain('There is 1 new commit')
  })

  it('PACK-2 restores the previous database if the tables have changed, asks first, and keeps the current one aside', async () => {
    const { familiar, inHome } = cloneFamiliar()
    const [from = ''] = (await familiar(['--version'])).stdout.split('\n')
    await familiar(['send', '--message', 'Remember that I like tea'])
    const step = `{ name: '9999-newer', up: (db) => db.schema.createTable('newer').addColumn('x', 'text').execute() }`
    release('2.0.0', { [migrations]: (text) => text.replace(/\n\]\n$/, `\n  ${step},\n]\n`) })
    expect(await familiar(['update'])).toMatchObject({ code: 0 })
    await familiar(['send', '--message', 'Remember that I like coffee'])
    expect(rowsWith(inHome('familiar.db'), 'coffee')).toBeGreaterThan(0)

    const unasked = await familiar(['update', '--rollback'])
    expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect((await familiar(['--version'])).stdout).toBe('2.0.0\n')

    const serving = familiar(['serve', '--port', '0'], { until: /is running at/ })
    await serving.shown
    const back = await familiar(['update', '--rollback', '--yes'])
    expect(back).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`Familiar ${from} is back in place of 2.0.0.`),
    })
    expect(await serving).toMatchObject({ code: 0 })
    const aside = /The database of 2\.0\.0 is kept: (\S+)/.exec(back.stdout)?.[1] ?? ''
    expect(existsSync(aside)).toBe(true)
    expect(rowsWith(aside, 'coffee')).toBeGreaterThan(0)
    expect(rowsWith(inHome('familiar.db'), 'coffee')).toBe(0)
    expect(rowsWith(inHome('familiar.db'), 'tea')).toBeGreaterThan(0)
    expect(await familiar(['send', '--message', 'What do I like?'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('tea'),
    })
  })
})
