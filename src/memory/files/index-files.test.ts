import { chmod, mkdir, mkdtemp, realpath, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createManualClock, type ManualClock } from '../../../test/support/manual-clock.ts'
import { openTestDatabase } from '../../../test/support/open-test-database.ts'
import { createIds } from '../../base/ids.ts'
import type { Database } from '../../storage/database.ts'
import { createMemories, type Memories, memoryCollection } from '../memories.ts'
import { citePlace, createFileIndex, type FileIndex } from './index-files.ts'

let folder: string
let workspace: string
let notes: string
let clock: ManualClock
let database: Database
let memories: Memories
let index: FileIndex

beforeEach(async () => {
  clock = createManualClock(Date.now() + 86_400_000)
  folder = await realpath(await mkdtemp(join(tmpdir(), 'familiar-files-')))
  workspace = join(folder, 'workspace')
  notes = join(folder, 'notes')
  await mkdir(join(workspace, 'memory'), { recursive: true })
  await mkdir(notes)
  await open()
  await database.write(async (writer) => {
    const users = (['max', 'eve'] as const).map((id) => ({
      id,
      name: id,
      role: id === 'max' ? ('owner' as const) : ('user' as const),
      created_at: 0,
    }))
    await writer.insertInto('users').values(users).execute()
  })
})

afterEach(async () => {
  await database.close()
  await rm(folder, { recursive: true })
})

async function open() {
  database = await openTestDatabase({ directory: folder, clock })
  memories = createMemories({ database, clock, ids: createIds(clock) })
  index = createFileIndex({ database, memories, clock, workspace })
}

async function write(path: string, text: string | Uint8Array): Promise<string> {
  const full = join(folder, path)
  await mkdir(dirname(full), { recursive: true })
  await writeFile(full, text)
  return full
}

/** Every passage in order, as it is cited. */
async function indexed(userId = 'max'): Promise<string[]> {
  const rows = await database.read
    .selectFrom('memories')
    .select(['id', 'content'])
    .where('user_id', '=', userId)
    .where('kind', '=', 'chunk')
    .orderBy('thread_id')
    .orderBy('position')
    .execute()
  const places = await index.fileOf(
    userId,
    rows.map((row) => row.id),
  )
  return rows.map(({ id, content }) => {
    const place = places.get(id)
    return `${place ? citePlace(place) : '?'} ${content.replaceAll('\n', '⏎')}`
  })
}

async function found(words: string, userId = 'max'): Promise<string[]> {
  const matches = await database.textSearch.search({ collection: memoryCollection, userId, words, limit: 50 })
  return (
    await memories.getMany(
      userId,
      matches.map((match) => match.id),
    )
  ).map((memory) => memory.content)
}

describe('createFileIndex', () => {
  it('MEM-16 always indexes the memory files of the workspace, as trusted', async () => {
    await write('workspace/MEMORY.md', '# Me\n\nI like tea.\n')
    await write('workspace/memory/2026-11-15.md', 'Met Bea.\nShe likes coffee.\n')
    await write('workspace/SOUL.md', 'not a memory')
    const report = await index.sync('max')
    expect(report).toMatchObject({ isFinished: true, files: 2, added: 2, passages: { added: 2, removed: 0 } })
    expect(await indexed()).toEqual(
      expect.arrayContaining([
        'MEMORY.md:1-3 # Me⏎⏎I like tea.',
        'memory/2026-11-15.md:1-2 Met Bea.⏎She likes coffee.',
      ]),
    )
    const [memory] = await memories.list('max', { limit: 1, kinds: ['chunk'] })
    expect(memory).toMatchObject({ source: 'import', label: 'owner', position: 0, threadId: expect.any(String) })
    expect(await index.sync('eve')).toMatchObject({ files: 0, roots: [] })
    expect(await index.fileOf('eve', [memory?.id ?? ''])).toEqual(new Map())
  })

  it('MEM-16 indexes an added folder as untrusted data, with headings and lines', async () => {
    await write('notes/trip.md', '# Trip\n\nIntro.\n\n## Packing\n\nA tent.\n')
    await write('notes/deep/list.txt', 'eggs')
    expect(await index.addRoot('max', notes)).toEqual({
      ok: true,
      root: { path: notes, isWorkspace: false },
      isNew: true,
    })
    expect(await index.addRoot('max', `${notes}/`)).toMatchObject({ ok: true, isNew: false })
    await index.sync('max')
    const chunks = await memories.list('max', { limit: 9, kinds: ['chunk'] })
    expect(chunks.map(({ title, label, position }) => ({ title, label, position }))).toEqual(
      expect.arrayContaining([
        { title: 'Trip', label: 'untrusted', position: 0 },
        { title: 'Trip › Packing', label: 'untrusted', position: 1 },
        { title: 'list', label: 'untrusted', position: 0 },
      ]),
    )
    expect((await indexed()).sort()).toEqual([
      'notes/deep/list.txt:1 eggs',
      'notes/trip.md:1-3 # Trip⏎⏎Intro.',
      'notes/trip.md:5-7 ## Packing⏎⏎A tent.',
    ])
    expect(await found('tent')).toEqual(['## Packing\n\nA tent.'])
    expect(await index.roots('max')).toContainEqual({ path: notes, isWorkspace: false, files: 2 })
  })

  it('MEM-16 reads only changed files, and an unchanged passage stays the same memory', async () => {
    const trip = await write('notes/trip.md', '# A\n\nfirst\n\n# B\n\nsecond\n\n# C\n\nsame\n\n# C\n\nsame\n')
    const other = await write('notes/other.md', 'other')
    await index.addRoot('max', notes)
    await index.sync('max')
    const before = await memories.list('max', { limit: 9, kinds: ['chunk'] })
    expect(await index.sync('max')).toMatchObject({ added: 0, changed: 0, removed: 0, files: 2 })

    // Other times, same words: nothing is indexed again.
    await utimes(other, 1, 1)
    expect(await index.sync('max')).toMatchObject({ changed: 0, passages: { added: 0, removed: 0 } })

    await writeFile(trip, '# New\n\nzeroth\n\n# B\n\nsecond\n\n# C\n\nsame\n\n# C\n\nsame\n')
    expect(await index.sync('max')).toMatchObject({ changed: 1, passages: { added: 1, removed: 1 } })
    const after = await memories.list('max', { limit: 9, kinds: ['chunk'] })
    const kept = (list: typeof before) => list.filter((memory) => !/first|zeroth/.test(memory.content))
    expect(new Set(kept(after).map(({ id, number }) => `${id} ${number}`))).toEqual(
      new Set(kept(before).map(({ id, number }) => `${id} ${number}`)),
    )
    expect(await found('first')).toEqual([])
    expect(await found('zeroth')).toHaveLength(1)

    // A moved passage gets its new place.
    await writeFile(trip, `# New\n\nzeroth\n\n\n\n# B\n\nsecond\n`)
    await index.sync('max')
    expect((await indexed()).sort()).toEqual([
      'notes/other.md:1 other',
      'notes/trip.md:1-3 # New⏎⏎zeroth',
      'notes/trip.md:7-9 # B⏎⏎second',
    ])
  })

  it('MEM-16 detects a change of the same length within one clock tick', async () => {
    const file = await write('notes/a.md', 'tea')
    await index.addRoot('max', notes)
    await utimes(file, clock.now() / 1000 - 1, clock.now() / 1000 - 1)
    await index.sync('max')
    await writeFile(file, 'cup')
    await utimes(file, clock.now() / 1000 - 1, clock.now() / 1000 - 1)
    await index.sync('max')
    expect(await indexed()).toEqual(['notes/a.md:1 cup'])
  })

  it('MEM-16 forgets files that were removed, renamed or are no longer text', async () => {
    await write('notes/gone.md', 'gone')
    await write('notes/old.md', 'moved')
    await write('notes/text.md', 'was text')
    await index.addRoot('max', notes)
    await index.sync('max')
    await rm(join(notes, 'gone.md'))
    await rename(join(notes, 'old.md'), join(notes, 'new.md'))
    await writeFile(join(notes, 'text.md'), 'now\u0000binary')
    expect(await index.sync('max')).toMatchObject({ added: 1, removed: 3, skipped: { counts: { binary: 1 } } })
    expect(await indexed()).toEqual(['notes/new.md:1 moved'])
    expect(await found('gone text moved')).toEqual(['moved'])
    await rm(notes, { recursive: true })
    expect(await index.sync('max')).toMatchObject({
      roots: expect.arrayContaining([expect.objectContaining({ path: notes, state: 'missing' })]),
    })
    expect(await indexed()).toEqual([])
    expect(await database.read.selectFrom('chunks').selectAll().execute()).toEqual([])
  })

  it('MEM-16 keeps its roots across restarts, and a removed one leaves nothing', async () => {
    const single = await write('elsewhere/app.log', 'a single file')
    await write('notes/deep/a.md', 'a')
    await write('notes/b.md', 'b')
    for (const path of [single, notes, join(notes, 'deep')]) await index.addRoot('max', path)
    await index.sync('max')
    await database.close()
    await open()
    expect((await index.roots('max')).map(({ path, files }) => [path, files])).toEqual([
      [join(workspace, 'MEMORY.md'), 0],
      [join(workspace, 'memory'), 0],
      [single, 1],
      [notes, 2],
      [join(notes, 'deep'), 0],
    ])
    expect(await index.removeRoot('max', notes)).toBe(true)
    expect(await index.removeRoot('max', notes)).toBe(false)
    expect(await index.removeRoot('max', join(workspace, 'memory'))).toBe(false)
    expect((await indexed()).sort()).toEqual(['app.log:1 a single file', 'notes/deep/a.md:1 a'])
    expect(await index.sync('max')).toMatchObject({ added: 0, removed: 0 })
    expect((await indexed()).sort()).toEqual(['app.log:1 a single file', 'deep/a.md:1 a'])
    await index.removeRoot('max', single)
    await index.removeRoot('max', join(notes, 'deep'))
    expect(await database.read.selectFrom('memory_files').selectAll().execute()).toEqual([])
    expect(await found('single file a')).toEqual([])
  })

  it('MEM-16 rejects a root that is missing, relative, or added by another user', async () => {
    expect(await index.addRoot('max', join(folder, 'none'))).toMatchObject({ ok: false, reason: 'not_found' })
    expect(await index.addRoot('max', 'notes')).toMatchObject({ ok: false, reason: 'bad_path' })
    expect(await index.addRoot('max', '/dev/null')).toMatchObject({ ok: false, reason: 'bad_path' })
    expect(await index.addRoot('max', `${notes}\u0000`)).toMatchObject({ ok: false })
    expect(await index.addRoot('eve', notes)).toMatchObject({ ok: false, reason: 'forbidden' })
    expect(await index.roots('eve')).toEqual([])
  })

  it('MEM-16 skips hidden, linked, unsupported, too large or too many files, and says why', async () => {
    await write('outside/secret.md', 'secret')
    await write('notes/a.md', 'a')
    await write('notes/.hidden/b.md', 'b')
    await write('notes/node_modules/c.md', 'c')
    await write('notes/photo.jpg', 'd')
    await write('notes/large.md', 'e'.repeat(2_001))
    await write('notes/z1.md', 'f')
    await write('notes/z2.md', 'g')
    await symlink(join(folder, 'outside'), join(notes, 'way'))
    await symlink(join(folder, 'outside', 'secret.md'), join(notes, 'link.md'))
    const small = createFileIndex({
      database,
      memories,
      clock,
      workspace,
      limits: { fileBytes: 2_000, files: 2, names: 99 },
    })
    await small.addRoot('max', notes)
    const report = await small.sync('max')
    expect(await indexed()).toEqual(expect.arrayContaining(['notes/a.md:1 a', 'notes/z1.md:1 f']))
    expect(await indexed()).toHaveLength(2)
    expect(report.skipped.counts).toEqual({ ignored: 2, not_text: 1, link: 2, too_large: 1, too_many: 1 })
    expect(report.skipped.examples).toEqual([
      { path: join(notes, 'large.md'), reason: 'too_large', message: 'it has more than 2000 bytes' },
      { path: join(notes, 'z2.md'), reason: 'too_many', message: 'there are more than 2 files' },
    ])
  })

  it('MEM-16 keeps the passages of unreadable files, and says so', async () => {
    const file = await write('notes/a.md', 'a')
    await write('notes/deep/b.md', 'b')
    await index.addRoot('max', notes)
    await index.sync('max')
    await writeFile(file, 'changed')
    await chmod(file, 0)
    await chmod(join(notes, 'deep'), 0)
    const report = await unprivileged(() => index.sync('max'))
    await chmod(join(notes, 'deep'), 0o700)
    expect(report).toMatchObject({ isFinished: true, removed: 0, skipped: { counts: { unreadable: 2 } } })
    expect(report.skipped.examples).toContainEqual({
      path: join(notes, 'deep'),
      reason: 'unreadable',
      message: 'no permission to read it',
    })
    expect((await indexed()).sort()).toEqual(['notes/a.md:1 a', 'notes/deep/b.md:1 b'])
  })

  it('MEM-16 waits until a file is completely written', async () => {
    const file = await write('notes/a.md', 'half')
    await index.addRoot('max', notes)
    const now = clock.now() / 1000
    await utimes(file, now, now)
    const syncing = index.sync('max')
    await expect.poll(() => clock.timers()).toBe(1)
    expect(await indexed()).toEqual([])
    await writeFile(file, 'the whole')
    await utimes(file, now, now)
    await clock.advance(200)
    expect(await syncing).toMatchObject({ added: 1 })
    expect(await indexed()).toEqual(['notes/a.md:1 the whole'])
  })

  it('MEM-16 leaves a file that keeps changing for the next time', async () => {
    const file = await write('notes/a.md', 'never')
    await index.addRoot('max', notes)
    const touch = () => utimes(file, clock.now() / 1000 + 0.2, clock.now() / 1000 + 0.2)
    await utimes(file, clock.now() / 1000, clock.now() / 1000)
    const syncing = index.sync('max')
    for (let look = 1; look < 5; look += 1) {
      await expect.poll(() => clock.timers()).toBe(1)
      await touch()
      await clock.advance(200)
    }
    expect(await syncing).toMatchObject({ isFinished: true, added: 0, skipped: { counts: { being_written: 1 } } })
    await clock.advance(1_000)
    expect(await index.sync('max')).toMatchObject({ added: 1 })
  })

  it('MEM-16 is completed by the next run after a crash at any commit, without duplicates', async () => {
    const long = Array.from({ length: 250 }, (_, number) => `# Heading ${number}\n\ntext ${number}\n`).join('\n')
    const changed = long.replaceAll('text 1', 'other 1')
    const versions = [long, changed, 'short', undefined]
    await index.addRoot('max', notes)
    for (const version of versions) {
      for (let commits = 0; ; commits += 1) {
        if (version === undefined) await rm(join(notes, 'long.md'), { force: true })
        else await write('notes/long.md', version)
        const outcome = await crashingIndex(commits)
          .sync('max')
          .catch(() => 'crashed')
        if (outcome !== 'crashed') break
      }
      const passages = version === undefined ? 0 : version.split('# ').length - (version === 'short' ? 0 : 1)
      const contents = (await indexed()).map((line) => line.replace(/^\S+ /, ''))
      expect(contents).toHaveLength(passages)
      expect(new Set(contents).size).toBe(passages)
      const entries = await found('heading text other short')
      expect(entries).toHaveLength(Math.min(50, passages))
    }
  })

  it('MEM-16 reports progress, and continues after it was stopped', async () => {
    for (const name of ['a', 'b', 'c']) await write(`notes/${name}.md`, name)
    await index.addRoot('max', notes)
    const stop = new AbortController()
    const seen: string[] = []
    const report = await index.sync('max', {
      signal: stop.signal,
      onProgress({ done, total, path }) {
        seen.push(`${done}/${total} ${path.slice(notes.length)}`)
        if (done === 2) stop.abort()
      },
    })
    expect(report.isFinished).toBe(false)
    expect(seen).toEqual(['1/3 /a.md', '2/3 /b.md'])
    expect(await index.sync('max')).toMatchObject({ isFinished: true, added: 1, files: 3 })
    expect(await index.sync('max', { signal: AbortSignal.abort() })).toMatchObject({ isFinished: false, removed: 0 })
  })

  it('MEM-16 runs one operation per user at a time', async () => {
    for (let number = 0; number < 20; number += 1) await write(`notes/${number}.md`, `text ${number}`)
    await index.addRoot('max', notes)
    await Promise.all([index.sync('max'), index.sync('max'), index.removeRoot('max', notes), index.sync('max')])
    expect(await indexed()).toEqual([])
    await index.addRoot('max', notes)
    await Promise.all([index.sync('max'), index.sync('max')])
    expect(await indexed()).toHaveLength(20)
  })
})

/** An index whose database fails after so many units, as if the process had died there. */
function crashingIndex(commits: number): FileIndex {
  let left = commits
  const crashing: Database = {
    ...database,
    write: (unit) => (left-- > 0 ? database.write(unit) : Promise.reject(new Error('crashed'))),
  }
  return createFileIndex({ database: crashing, memories, clock, workspace })
}

/** Root may read everything, so it switches to another user. */
async function unprivileged<T>(task: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return task()
  await chmod(folder, 0o755)
  process.seteuid?.(65534)
  try {
    return await task()
  } finally {
    process.seteuid?.(0)
  }
}
