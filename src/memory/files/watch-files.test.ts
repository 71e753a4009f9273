import { mkdir, mkdtemp, realpath, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { openTestDatabase } from '../../../test/support/open-test-database.ts'
import { type Clock, systemClock } from '../../base/clock.ts'
import { createIds } from '../../base/ids.ts'
import { silentLogger } from '../../base/logger.ts'
import type { Database } from '../../storage/database.ts'
import { createMemories } from '../memories.ts'
import { createFileIndex, type FileIndex } from './index-files.ts'
import { createFileWatch, type FileWatch, type WatchFolder } from './watch-files.ts'

let folder: string
let workspace: string
let notes: string
let database: Database
let index: FileIndex
let watch: FileWatch | undefined
let syncs: number

beforeEach(async () => {
  syncs = 0
  folder = await realpath(await mkdtemp(join(tmpdir(), 'familiar-watch-')))
  workspace = join(folder, 'workspace')
  notes = join(folder, 'notes')
  await mkdir(join(workspace, 'memory'), { recursive: true })
  await mkdir(notes)
})

afterEach(async () => {
  await watch?.close()
  watch = undefined
  await database.close()
  await rm(folder, { recursive: true })
})

async function open(clock: Clock, watchFolder?: WatchFolder): Promise<FileWatch> {
  database = await openTestDatabase({ directory: folder, clock })
  const users = [
    { id: 'max', name: 'Max', role: 'owner' as const, created_at: 0 },
    { id: 'eve', name: 'Eve', role: 'user' as const, created_at: 0 },
  ]
  await database.write(async (writer) => void (await writer.insertInto('users').values(users).execute()))
  const memories = createMemories({ database, clock, ids: createIds(clock) })
  index = createFileIndex({ database, memories, clock, workspace })
  const counted: FileIndex = {
    ...index,
    sync(...args) {
      syncs += 1
      return index.sync(...args)
    },
  }
  watch = createFileWatch({ index: counted, clock, logger: silentLogger, ...(watchFolder && { watch: watchFolder }) })
  return watch
}

async function contents(): Promise<string[]> {
  const rows = await database.read.selectFrom('memories').select('content').orderBy('content').execute()
  return rows.map((row) => row.content)
}

const becomes = (expected: string[]) => expect.poll(contents, { timeout: 10_000, interval: 50 }).toEqual(expected)

/** A file system watch with events made by the test. */
function handmadeWatch(refuse: (path: string) => string | undefined = () => undefined) {
  const watched = new Map<string, Parameters<WatchFolder>[1]>()
  const watchFolder: WatchFolder = (path, listeners) => {
    const code = refuse(path)
    if (code) throw Object.assign(new Error(code), { code })
    watched.set(path, listeners)
    return { close: () => void watched.delete(path) }
  }
  return { watched, watchFolder }
}

describe('createFileWatch', () => {
  it('MEM-16 follows files as they are created, changed, renamed and removed, at any depth', async () => {
    const watch = await open(systemClock())
    await index.addRoot('max', notes)
    await writeFile(join(notes, 'a.md'), 'first')
    await watch.follow('max')
    expect(watch.status('max')).toMatchObject({ mode: 'watching', problem: undefined, failure: undefined })
    await becomes(['first'])
    await writeFile(join(notes, 'a.md'), 'second')
    await becomes(['second'])
    await mkdir(join(notes, 'deep', 'deeper'), { recursive: true })
    await writeFile(join(notes, 'deep', 'deeper', 'b.md'), 'third')
    await becomes(['second', 'third'])
    await rename(join(notes, 'a.md'), join(notes, 'deep', 'c.md'))
    await writeFile(join(notes, 'deep', 'deeper', 'b.md'), 'fourth')
    await becomes(['fourth', 'second'])
    await writeFile(join(workspace, 'MEMORY.md'), 'fifth')
    await becomes(['fifth', 'fourth', 'second'])
    await rm(join(notes, 'deep'), { recursive: true })
    await becomes(['fifth'])
  })

  it('MEM-16 survives the removal of a root and notices its return', async () => {
    const watch = await open(systemClock())
    await index.addRoot('max', notes)
    await writeFile(join(notes, 'a.md'), 'first')
    await watch.follow('max')
    await becomes(['first'])
    await rm(notes, { recursive: true })
    await becomes([])
    const missing = { path: notes, isWorkspace: false, state: 'missing' }
    await expect.poll(() => watch.status('max').report?.roots).toContainEqual(missing)
    await mkdir(notes)
    await writeFile(join(notes, 'a.md'), 'again')
    await becomes(['again'])
    await writeFile(join(notes, 'a.md'), 'and again')
    await becomes(['and again'])
  })

  it('MEM-16 checks the disk on recall, once a minute, if it cannot watch', async () => {
    const clock = createManualClock(Date.now() + 86_400_000)
    const { watchFolder } = handmadeWatch((path) => (path === notes ? 'ENOSPC' : undefined))
    const watch = await open(clock, watchFolder)
    await index.addRoot('max', notes)
    await watch.follow('max')
    expect(watch.status('max')).toMatchObject({ mode: 'looking', problem: `${notes} cannot be watched: ENOSPC` })
    await clock.advance(1_000)
    await watch.follow('max')
    await writeFile(join(notes, 'a.md'), 'first')
    const before = syncs
    watch.lookAgain('max')
    expect(syncs).toBe(before)
    await clock.advance(60_000)
    watch.lookAgain('max')
    watch.lookAgain('max')
    expect(syncs).toBe(before + 1)
    await becomes(['first'])
    expect(clock.timers()).toBe(0)
  })

  it('MEM-16 does not check if everything is watched, and sets no timer without changes', async () => {
    const clock = createManualClock(Date.now() + 86_400_000)
    const { watched, watchFolder } = handmadeWatch()
    const watch = await open(clock, watchFolder)
    await watch.follow('eve')
    expect([watched.size, clock.timers()]).toEqual([0, 0])
    expect(watch.status('eve').mode).toBe('off')
    await index.addRoot('max', notes)
    await watch.follow('max')
    expect([...watched.keys()].sort()).toEqual([folder, notes, workspace, join(workspace, 'memory')])
    // Once more, for changes before the watches started.
    expect(clock.timers()).toBe(1)
    await clock.advance(1_000)
    await watch.follow('max')
    expect(clock.timers()).toBe(0)
    await writeFile(join(notes, 'a.md'), 'unseen')
    await clock.advance(120_000)
    const before = syncs
    watch.lookAgain('max')
    expect(syncs).toBe(before)
    for (const [path, name] of [
      [notes, '.a.md.swp'],
      [notes, 'photo.jpg'],
      [folder, 'other'],
      [workspace, 'SOUL.md'],
    ] as const) {
      watched.get(path)?.onChange(name, true)
    }
    await watch.follow('eve')
    expect([await contents(), clock.timers()]).toEqual([[], 0])
    watched.get(notes)?.onChange('a.md', false)
    await expect.poll(() => clock.timers()).toBe(1)
    watched.get(notes)?.onChange('a.md', false)
    await clock.advance(60_000)
    await becomes(['unseen'])
  })

  it('MEM-16 watches a new folder that takes the name of another', async () => {
    const clock = createManualClock(Date.now() + 86_400_000)
    const { watched, watchFolder } = handmadeWatch()
    const watch = await open(clock, watchFolder)
    await mkdir(join(notes, 'deep'))
    await index.addRoot('max', notes)
    await watch.follow('max')
    await clock.advance(1_000)
    await watch.follow('max')
    const before = watched.get(join(notes, 'deep'))
    watched.get(folder)?.onChange('notes', true)
    expect([watched.has(notes), watched.has(join(notes, 'deep'))]).toEqual([false, false])
    await expect.poll(() => clock.timers()).toBe(1)
    await clock.advance(60_000)
    await expect.poll(() => watched.has(join(notes, 'deep'))).toBe(true)
    expect(watched.get(join(notes, 'deep'))).not.toBe(before)
  })

  it('MEM-16 drops a broken watch, reports it, and retries with the next follow', async () => {
    const clock = createManualClock(Date.now() + 86_400_000)
    const { watched, watchFolder } = handmadeWatch()
    const watch = await open(clock, watchFolder)
    await index.addRoot('max', notes)
    await watch.follow('max')
    watched.get(notes)?.onError(Object.assign(new Error('lost'), { code: 'EIO' }))
    expect(watched.has(notes)).toBe(false)
    await clock.advance(60_000)
    await expect.poll(() => watch.status('max').mode).toBe('looking')
    expect(clock.timers()).toBe(0)
    await watch.follow('max')
    expect(watch.status('max')).toMatchObject({ mode: 'watching', problem: undefined })
    await index.removeRoot('max', notes)
    await watch.follow('max')
    expect(watched.has(notes)).toBe(false)
  })

  it('MEM-16 reports a failed sync, and releases everything when closed', async () => {
    const clock = createManualClock(Date.now() + 86_400_000)
    const { watched, watchFolder } = handmadeWatch()
    const watch = await open(clock, watchFolder)
    await watch.follow('max')
    await index.addRoot('max', notes)
    await writeFile(join(notes, 'a.md'), 'first')
    const following = watch.follow('max')
    await watch.close()
    await following
    expect([watched.size, clock.timers()]).toEqual([0, 0])
    expect(await contents()).toEqual([])
    await watch.follow('max')
    expect(watched.size).toBe(0)

    const broken = createFileWatch({
      index: { ...index, sync: () => Promise.reject(new Error('The disk is full')) },
      clock,
      logger: silentLogger,
      watch: watchFolder,
    })
    await broken.follow('max')
    expect(broken.status('max')).toMatchObject({ mode: 'off', failure: 'The disk is full' })
    await broken.close()
  })
})
