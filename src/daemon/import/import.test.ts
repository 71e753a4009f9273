import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { skillText } from '../../../test/support/skills.ts'
import { openHome } from '../home.ts'
import { type HomePaths, homePaths } from '../home-paths.ts'
import { applyImport, type ImportKind, undoImport } from './apply-import.ts'
import { planImport } from './plan-import.ts'

const key = `sk-${'a1B2'.repeat(10)}`

/** The layout of OpenClaw, with everything that must not be imported. */
const openclaw = {
  'openclaw.json': `{"key": "${key}"}`,
  'credentials/oauth.json': '{"token": "x"}',
  'agents/main/sessions/1.jsonl': '{}',
  '.env': `KEY=${key}`,
  'skills/managed/SKILL.md': skillText('managed'),
  'workspace/SOUL.md': '# Who I am\n\nKind.\n',
  'workspace/USER.md': 'Max, in Valletta.\n',
  'workspace/AGENTS.md': '# How to work\n',
  'workspace/IDENTITY.md': 'Name: Claw\n',
  'workspace/TOOLS.md': `Camera at 10.0.0.2, key ${key}.\n`,
  'workspace/HEARTBEAT.md': '- look at the mail\n',
  'workspace/BOOTSTRAP.md': 'Say hello.\n',
  'workspace/MEMORY.md': 'The spare key is with Ruth.\n',
  'workspace/memory/2026-01-02.md': '# Friday\n\nAnna came.\n',
  'workspace/memory/projects/kitchen.md': 'White tiles.\n',
  'workspace/memory/index.sqlite': 'binary\0',
  'workspace/canvas/index.html': '<p>',
  'workspace/.git/config': '[core]',
  'workspace/skills/weather/SKILL.md': skillText('weather', 'metadata: {"openclaw":{"emoji":"☁"}}\n'),
  'workspace/skills/weather/scripts/now.sh': 'echo now',
  'workspace/skills/weather/.env': `KEY=${key}`,
  'workspace/skills/leaky/SKILL.md': skillText('leaky', '', `Use ${key}.`),
  'workspace/skills/broken/SKILL.md': '---js\nx\n---\n',
}

const hermes = {
  'config.yaml': 'model: x',
  '.env': `OPENROUTER_API_KEY=${key}`,
  'auth.json': '{}',
  'state.db': 'x',
  'SOUL.md': 'Direct.\n',
  'memories/MEMORY.md': 'Uses uv.\n§\nRuns Debian.\n',
  'memories/USER.md': 'Name: Max\n',
  'sessions/1.json': '{}',
  'cron/jobs.json': '[]',
  'skills/research/arxiv/SKILL.md': skillText('arxiv'),
  'skills/mlops/training/axolotl/SKILL.md': skillText('axolotl'),
  'skills/.hub/lock.json': '{}',
}

describe('import', () => {
  let folder: string
  let paths: HomePaths
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'familiar-import-'))
    paths = homePaths(join(folder, 'home'))
  })
  afterEach(() => rmSync(folder, { recursive: true, force: true }))

  function write(root: string, files: Record<string, string>): string {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, root, path)), { recursive: true, mode: 0o700 })
      writeFileSync(join(folder, root, path), text)
    }
    return join(folder, root)
  }

  async function plan(kind: ImportKind, path: string) {
    const planning = await planImport({ kind, path, workspace: paths.workspace })
    if (!planning.ok) throw new Error(planning.problem)
    return planning.plan
  }

  async function bringIn(kind: ImportKind, path: string) {
    const seen = await plan(kind, path)
    await openHome(paths.root)
    return await applyImport(seen, { paths, clock: createManualClock(), signal: new AbortController().signal })
  }

  const inWorkspace = (path: string) => readFileSync(join(paths.workspace, path), 'utf8')
  const everything = (root: string) =>
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
      .sort()

  it('IMPORT-1 shows what of OpenClaw would go where and what not, and changes nothing', async () => {
    const source = write('openclaw', openclaw)
    const before = everything(folder)
    const seen = await plan('openclaw', source)
    expect(everything(folder)).toEqual(before)
    expect(seen.files.map(({ to, way, notes }) => [to, way, ...notes])).toEqual([
      ['AGENTS.md', 'new'],
      ['HEARTBEAT.md', 'new'],
      ['IDENTITY.md', 'new'],
      ['MEMORY.md', 'new'],
      ['SOUL.md', 'new'],
      ['TOOLS.md', 'new', 'what looks like a key is left out'],
      ['USER.md', 'new'],
      ['memory/2026-01-02.md', 'new'],
      ['memory/projects/kitchen.md', 'new'],
    ])
    expect(seen.skills.map(({ name, to, files }) => [name, to, files])).toEqual([
      ['weather', 'skills/imported/weather', 2],
      ['managed', 'skills/imported/managed', 1],
    ])
    const left = Object.fromEntries(seen.leftOut.map(({ path, reason }) => [path.slice(source.length + 1), reason]))
    expect(left).toMatchObject({
      '.env': expect.stringContaining('keys'),
      agents: expect.stringContaining('conversations'),
      credentials: expect.stringContaining('keys'),
      'openclaw.json': expect.stringContaining('keys'),
      'workspace/BOOTSTRAP.md': expect.stringContaining('first run'),
      'workspace/canvas': expect.any(String),
      'workspace/memory/index.sqlite': 'it is not text',
      'workspace/skills/leaky': 'SKILL.md contains what looks like a key',
      'workspace/skills/broken': expect.stringContaining('not in YAML'),
    })
  })

  it('IMPORT-1 imports an OpenClaw workspace, without secrets', async () => {
    const { record, recordPath } = await bringIn('openclaw', write('openclaw', openclaw))
    expect(inWorkspace('SOUL.md')).toBe(openclaw['workspace/SOUL.md'])
    expect(inWorkspace('memory/2026-01-02.md')).toBe(openclaw['workspace/memory/2026-01-02.md'])
    expect(inWorkspace('TOOLS.md')).toBe('Camera at 10.0.0.2, key [a key was removed here].\n')
    expect(everything(join(paths.workspace, 'skills'))).toEqual([
      'imported/managed/SKILL.md',
      'imported/weather/SKILL.md',
      'imported/weather/scripts/now.sh',
    ])
    for (const path of everything(paths.root)) expect(readFileSync(join(paths.root, path), 'utf8')).not.toContain(key)
    expect(JSON.parse(readFileSync(recordPath, 'utf8'))).toEqual(record)
    expect(record.written).toHaveLength(12)
    expect(record.written.find(({ path }) => path === 'SOUL.md')?.way).toBe('starter')
  })

  it('IMPORT-1 imports a workspace alone, and the old name of its memory', async () => {
    const source = write('clawd', { 'SOUL.md': 'x', 'memory.md': 'old' })
    expect((await plan('openclaw', source)).files.map(({ to }) => to)).toEqual(['SOUL.md', 'MEMORY.md'])
  })

  it('IMPORT-1 imports a Hermes home, with skills moved out of their categories', async () => {
    const seen = await plan('hermes', write('hermes', hermes))
    expect(seen.leftOut.map(({ path }) => path.slice(seen.from.length + 1))).toEqual([
      '.env',
      'auth.json',
      'config.yaml',
      'cron',
      'sessions',
      'state.db',
    ])
    await bringIn('hermes', join(folder, 'hermes'))
    expect(inWorkspace('MEMORY.md')).toBe('Uses uv.\n\nRuns Debian.\n')
    expect(inWorkspace('USER.md')).toBe('Name: Max\n')
    expect(everything(join(paths.workspace, 'skills'))).toEqual([
      'imported/arxiv/SKILL.md',
      'imported/axolotl/SKILL.md',
    ])
    for (const path of everything(paths.root)) expect(readFileSync(join(paths.root, path), 'utf8')).not.toContain(key)
  })

  it('IMPORT-1 overwrites nothing: existing files stay, and the other gets another name', async () => {
    await openHome(paths.root)
    write('home/workspace', { 'SOUL.md': 'My own words.', 'memory/2026-01-02.md': 'My Friday.' })
    write('home/workspace/skills', { 'weather/SKILL.md': skillText('weather', '', 'My own.') })
    const source = write('openclaw', openclaw)
    const { record } = await bringIn('openclaw', source)
    expect(inWorkspace('SOUL.md')).toBe('My own words.')
    expect(inWorkspace('SOUL.imported.md')).toBe(openclaw['workspace/SOUL.md'])
    expect(inWorkspace('memory/2026-01-02.md')).toBe('My Friday.')
    expect(inWorkspace('memory/2026-01-02.imported.md')).toBe(openclaw['workspace/memory/2026-01-02.md'])
    expect(inWorkspace('skills/weather/SKILL.md')).toContain('My own.')
    expect(existsSync(join(paths.workspace, 'skills/imported/weather'))).toBe(false)
    expect(record.written.map(({ way }) => way)).toContain('beside')
    const after = everything(paths.workspace)
    const again = await bringIn('openclaw', source)
    expect(again.record.written).toEqual([])
    expect(everything(paths.workspace)).toEqual(after)
  })

  it('IMPORT-1 is undone by its record, except for changed files', async () => {
    await openHome(paths.root)
    const before = Object.fromEntries(everything(paths.workspace).map((path) => [path, inWorkspace(path)]))
    const { record } = await bringIn('openclaw', write('openclaw', openclaw))
    writeFileSync(join(paths.workspace, 'memory/projects/kitchen.md'), 'Green tiles.')
    const { removed, kept } = await undoImport(record, paths.workspace)
    expect(kept).toEqual(['memory/projects/kitchen.md'])
    expect(removed).toHaveLength(record.written.length - 1)
    const after = Object.fromEntries(everything(paths.workspace).map((path) => [path, inWorkspace(path)]))
    expect(after).toEqual({ ...before, 'memory/projects/kitchen.md': 'Green tiles.' })
    expect(existsSync(join(paths.workspace, 'skills/imported'))).toBe(false)
  })

  it('IMPORT-1 a record that names outside files removes nothing there', async () => {
    await openHome(paths.root)
    const outside = join(folder, 'mine.txt')
    writeFileSync(outside, 'mine')
    const { sha256 } = await import('../../base/ids.ts')
    const written = [{ path: '../../mine.txt', sha256: sha256('mine'), way: 'new' as const }]
    await undoImport({ kind: 'hermes', from: '/', at: '', written }, paths.workspace)
    expect(readFileSync(outside, 'utf8')).toBe('mine')
  })

  it('SEC-11 follows no link out of the folder, and opens only files', async () => {
    writeFileSync(join(folder, 'private.md'), 'private')
    const source = write('clawd', { 'USER.md': 'x', 'memory/a.md': 'a' })
    symlinkSync(join(folder, 'private.md'), join(source, 'SOUL.md'))
    symlinkSync(join(folder, 'private.md'), join(source, 'memory', 'b.md'))
    symlinkSync(folder, join(source, 'memory', 'all'))
    symlinkSync(folder, join(source, 'skills'))
    mkdirSync(join(source, 'MEMORY.md'))
    const seen = await plan('openclaw', source)
    expect(seen.files.map(({ to }) => to)).toEqual(['USER.md', 'memory/a.md'])
    expect(seen.leftOut.map(({ path }) => path.slice(source.length + 1)).sort()).toEqual([
      'MEMORY.md',
      'SOUL.md',
      'memory/all',
      'memory/b.md',
      'skills',
    ])
  })

  it('SEC-14 skips prompt files with invisible characters; a memory may have them', async () => {
    const source = write('clawd', { 'SOUL.md': 'be \u202ekind', 'memory/a.md': 'be \u200bkind' })
    const seen = await plan('openclaw', source)
    expect(seen.files.map(({ to }) => to)).toEqual(['memory/a.md'])
    expect(seen.leftOut).toMatchObject([{ reason: expect.stringContaining('U+202E') }])
  })

  it('IMPORT-1 reports that there is nothing to import', async () => {
    const empty = write('empty', { 'x.txt': 'x' })
    const workspace = paths.workspace
    expect(await planImport({ kind: 'hermes', path: empty, workspace })).toMatchObject({ ok: false })
    expect(await planImport({ kind: 'openclaw', path: join(folder, 'nowhere'), workspace })).toMatchObject({
      ok: false,
    })
  })
})
