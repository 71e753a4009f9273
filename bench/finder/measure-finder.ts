import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { createFileFinder } from '../../src/tools/files/finders.ts'
import { createPathSearch, createPathStore } from '../../src/tools/files/fuzzy-search.ts'
import { percentile, rounded } from '../statistics.ts'
import { type Agreement, compareWithFzf } from './compare-with-fzf.ts'
import { madePaths } from './made-paths.ts'
import { type MadeQuery, madeQueries } from './made-queries.ts'

interface FinderReport {
  note: string
  sizes: SizeFigures[]
  onDisk: DiskFigures
  /** Null if fzf is not installed. */
  besideFzf: Agreement[] | null
}

interface Keystrokes {
  keystrokes: number
  p50Ms: number
  p95Ms: number
  worstMs: number
}

/** `typed` letter by letter; `pasted` at once, without an earlier result to refine. */
interface SizeFigures {
  paths: number
  typed: Keystrokes
  /** The same in the time of the processor, which what else runs on the machine does not add to. */
  typedCpu: Keystrokes
  pasted: Keystrokes
  indexMs: number
}

interface DiskFigures {
  files: number
  /** From the first question to the last file. */
  indexMs: number
  /** A look at all folders where nothing has changed. */
  refreshMs: number
  /** From asking to the answer, over the thread. */
  typed: Keystrokes
  /** The longest that anything else had to wait meanwhile. */
  longestPauseMs: number
}

const limit = 20
const seed = 11

/** Types queries letter by letter into trees of more and more files. */
export async function measureFinder(options: {
  sizes: readonly number[]
  questions: number
  say(line: string): void
}): Promise<FinderReport> {
  const { sizes, questions, say } = options
  const figures: SizeFigures[] = []
  for (const size of sizes) {
    say(`${size} paths`)
    const paths = madePaths(size, seed)
    figures.push(measureSize(paths, madeQueries(paths, { count: questions, seed })))
  }
  const onDisk = Math.min(100_000, sizes.at(-1) ?? 0)
  say(`${onDisk} files on the disk`)
  const disk = await measureDisk(onDisk, questions)
  say('beside fzf')
  const besideFzf = compareWithFzf({ questions: 100, seed })
  const note =
    'Paths and queries are generated from seeds; the comparison with fzf is over the files of node_modules, src, ' +
    'test and docs of this repository, with queries that at least 50 of them match. Letters are typed one after the other; a keystroke is one search.'
  return { note, sizes: figures, onDisk: disk, besideFzf }
}

function measureSize(paths: readonly string[], queries: readonly MadeQuery[]): SizeFigures {
  const startedAt = performance.now()
  const store = createPathStore()
  for (const path of paths) store.add(path)
  const indexMs = performance.now() - startedAt
  const typed: number[] = []
  const cpu: number[] = []
  const pasted: number[] = []
  const search = createPathSearch(store)
  // The code is compiled in a daemon that has been asked before.
  for (const { text } of queries.slice(0, 20)) search.search(text, limit)
  for (const { text } of queries) {
    for (let length = 1; length <= text.length; length += 1) {
      const before = performance.now()
      const cpuBefore = cpuMs()
      search.search(text.slice(0, length), limit)
      cpu.push(cpuMs() - cpuBefore)
      typed.push(performance.now() - before)
    }
    const fresh = createPathSearch(store)
    const before = performance.now()
    fresh.search(text, limit)
    pasted.push(performance.now() - before)
  }
  return {
    paths: paths.length,
    typed: summary(typed),
    typedCpu: summary(cpu),
    pasted: summary(pasted),
    indexMs: rounded(indexMs, 0),
  }
}

async function measureDisk(files: number, questions: number): Promise<DiskFigures> {
  const root = mkdtempSync(join(tmpdir(), 'familiar-finder-bench-'))
  const paths = madePaths(files, seed)
  for (const path of paths) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), '')
  }
  const finder = createFileFinder({ roots: [root], closed: [], clock: systemClock() })
  const pauses = watchPauses()
  try {
    const timed = async (run: () => Promise<unknown>) => {
      const before = performance.now()
      await run()
      return performance.now() - before
    }
    const indexMs = await timed(() => finder.refresh())
    // Files that changed a moment ago are read again, because they may still change.
    await new Promise((resolve) => setTimeout(resolve, 2_500))
    await finder.refresh()
    const refreshMs = await timed(() => finder.refresh())
    const typed: number[] = []
    for (const { text } of madeQueries(paths, { count: questions, seed })) {
      for (let length = 1; length <= text.length; length += 1) {
        typed.push(await timed(() => finder.find({ query: text.slice(0, length), limit })))
      }
    }
    return {
      files,
      indexMs: rounded(indexMs, 0),
      refreshMs: rounded(refreshMs, 0),
      typed: summary(typed),
      longestPauseMs: rounded(pauses.longest(), 1),
    }
  } finally {
    pauses.stop()
    await finder.close()
    rmSync(root, { recursive: true })
  }
}

function watchPauses() {
  let last = performance.now()
  let longest = 0
  const timer = setInterval(() => {
    const now = performance.now()
    longest = Math.max(longest, now - last - 5)
    last = now
  }, 5)
  return { longest: () => longest, stop: () => clearInterval(timer) }
}

function cpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

function summary(times: readonly number[]): Keystrokes {
  return {
    keystrokes: times.length,
    p50Ms: rounded(percentile(times, 0.5)),
    p95Ms: rounded(percentile(times, 0.95)),
    worstMs: rounded(Math.max(...times)),
  }
}
