import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { estimateTokens } from '../../src/base/tokens.ts'
import { cachedQuestions } from '../../src/memory/embedding/cached-questions.ts'
import type { Embedder } from '../../src/memory/embedding/embedder.ts'
import { createLocalEmbedder } from '../../src/memory/embedding/local/local-embedder.ts'
import { localModelFolder } from '../../src/memory/embedding/local/model-files.ts'
import { openSqlite } from '../../src/storage/sqlite/open-sqlite.ts'
import { capabilityLines } from '../../src/tools/capabilities/capability-lines.ts'
import { createCapabilityShelf } from '../../src/tools/capabilities/capability-shelf.ts'
import { createCapabilityCatalog } from '../../src/tools/capabilities/catalog/create-catalog.ts'
import { createCapabilitySearch } from '../../src/tools/capabilities/catalog/create-search.ts'
import { wordsOf } from '../../src/tools/capabilities/catalog/word-index.ts'
import { createVersionStore } from '../../src/tools/capabilities/versions/version-store.ts'
import { createFindTools } from '../../src/tools/find-tools.ts'
import { createToolRegistry } from '../../src/tools/registry.ts'
import { toolContext } from '../../test/support/tool-context.ts'
import { parallelEmbedder } from '../recall/parallel-embedder.ts'
import { percentile, rounded } from '../statistics.ts'
import { type BenchQuestion, makeDistractors, readTargets } from './capability-set.ts'
import { benchUser, fillCatalog } from './fill-catalog.ts'

export interface CapabilitySearchReport {
  note: string
  sizes: SizeFigures[]
}

interface SizeFigures {
  capabilities: number
  questions: number
  /** With a warm model, the question's embedding included. */
  findTools: Figures
  wordsOnly: Figures
  /** Of the plain questions, those that have no word of the name, and none of name and description, in common with it. */
  withoutItsName: Subset
  withoutItsWords: Subset
  /** The same 200 wishes, only hinted at. */
  hints: Figures
  hintsWordsOnly: Figures
  /** What the lines of the prompt cost. */
  promptTokens: number
  /** From rows and vectors on disk to a catalog and indexes in memory. */
  startMs: number
  rssMegabytes: number
}

interface Figures {
  /** Shares of the questions whose answer is first, or among the first five. */
  recallAt1: number
  recallAt5: number
  /** The half that the weights were chosen on, and the other one. */
  recallAt5OfHalves: [chosen: number, held: number]
  p50Ms: number
  p95Ms: number
  /** Those that were not found, by the name of what would have answered them. */
  missed: string[]
}

interface Subset {
  questions: number
  recallAt5: number
}

const seed = 7

/** Asks `find_tools` 200 hand-written questions among more and more capabilities that look real. */
export async function measureCapabilitySearch(options: {
  sizes: readonly number[]
  /** A folder that keeps databases with their vectors for the next run. */
  store: string | undefined
  say(line: string): void
}): Promise<CapabilitySearchReport> {
  const { sizes, store, say } = options
  const folder = store ?? mkdtempSync(join(tmpdir(), 'familiar-capability-search-'))
  const clock = systemClock()
  const embedders = [0, 1].map(() => createLocalEmbedder({ folder: localModelFolder, clock })) as [Embedder, Embedder]
  const embedder = parallelEmbedder(embedders)
  try {
    const figures: SizeFigures[] = []
    for (const size of sizes.toSorted((a, b) => a - b)) {
      say(`${size} capabilities: filling and embedding`)
      figures.push(await measureSize({ size, folder, embedder, say }))
    }
    const note =
      'Targets, questions and hints are hand-written, the other capabilities generated: nearly a quarter of them about ' +
      'the subjects of the targets. The hints were the first set; the tags and the plain questions were written after it ' +
      'had been measured, and most plain questions have a word in common with the tags. Every second question chose the ' +
      'weight of words.'
    return { note, sizes: figures }
  } finally {
    await embedder.close()
    if (store === undefined) rmSync(folder, { recursive: true })
  }
}

async function measureSize(options: {
  size: number
  folder: string
  embedder: Embedder
  say(line: string): void
}): Promise<SizeFigures> {
  const { size, folder, embedder, say } = options
  const targets = readTargets()
  const capabilities = [...targets.capabilities, ...makeDistractors(seed)].slice(0, size)
  if (capabilities.length < size) throw new Error(`There are only ${capabilities.length} capabilities`)
  const questions = targets.questions.slice(0, size)
  const path = join(folder, `capabilities-${size}.db`)
  const clock = systemClock()
  const database = await openSqlite({ path, clock, snapshotDirectory: folder })
  const user = { id: benchUser, name: 'Bench', role: 'owner' as const, created_at: 1 }
  await database.write((writer) =>
    writer
      .insertInto('users')
      .values(user)
      .onConflict((conflict) => conflict.doNothing())
      .execute(),
  )
  await fillCatalog(database, capabilities)
  const versions = createVersionStore({ directory: join(folder, 'versions') })
  const dependencies = { database, versions, clock, ids: createIds(clock), logger: silentLogger }

  async function open(model: Embedder | undefined) {
    const catalog = createCapabilityCatalog(dependencies)
    await catalog.start()
    const search = createCapabilitySearch({ catalog, database, embedder: model, logger: silentLogger })
    await search.start()
    await search.settled()
    const runs = { run: () => Promise.reject(new Error('nothing runs here')) }
    const registry = createToolRegistry()
    registry.addShelf(createCapabilityShelf({ catalog, runs, afterFailure: async () => undefined }))
    return { catalog, search, findTools: createFindTools({ registry, capabilities: search }) }
  }

  try {
    // Once so that there are vectors, and once more as at any later start.
    await (await open(embedder)).search.close()
    const before = performance.now()
    const { catalog, search, findTools } = await open(cachedQuestions(embedder))
    const startMs = performance.now() - before
    say(`asking ${questions.length} questions`)
    const find = async ({ text }: BenchQuestion) =>
      (await findTools.run({ query: text }, toolContext({ userId: benchUser }))).foundTools ?? []
    // The model and the compiled code are warm in a daemon that has been asked before.
    for (const question of questions) await find({ ...question, text: `${question.text} please` })
    const both = await askAll(questions, find)
    const hinted = questions.map((question) => ({ ...question, text: question.hint }))
    const descriptions = new Map(capabilities.map(({ name, description }) => [name, description]))
    const subset = (textOf: (name: string) => string): Subset => {
      const chosen = questions.filter(({ text, answer }) => !sharesWord(text, textOf(answer)))
      const found = chosen.filter(({ answer }) => !both.missed.includes(answer))
      return { questions: chosen.length, recallAt5: rounded(found.length / Math.max(1, chosen.length), 3) }
    }
    const words = await open(undefined)
    const byWords = async ({ text }: BenchQuestion) =>
      (await words.findTools.run({ query: text }, toolContext({ userId: benchUser }))).foundTools ?? []
    const wordsOnly = await askAll(questions, byWords)
    const figures = {
      capabilities: size,
      questions: questions.length,
      findTools: both,
      wordsOnly,
      withoutItsName: subset((name) => name),
      withoutItsWords: subset((name) => `${name} ${descriptions.get(name)}`),
      hints: await askAll(hinted, find),
      hintsWordsOnly: await askAll(hinted, byWords),
      promptTokens: estimateTokens(capabilityLines(catalog.list(benchUser)) ?? ''),
      startMs: rounded(startMs, 0),
      rssMegabytes: Math.round(process.memoryUsage().rss / 1e6),
    }
    await Promise.all([search.close(), words.search.close()])
    return figures
  } finally {
    await database.close()
  }
}

function sharesWord(text: string, other: string): boolean {
  const words = new Set(wordsOf(text))
  return wordsOf(other).some((word) => words.has(word))
}

async function askAll(
  questions: readonly BenchQuestion[],
  find: (question: BenchQuestion) => Promise<readonly string[]>,
): Promise<Figures> {
  const times: number[] = []
  const places: number[] = []
  for (const question of questions) {
    const startedAt = performance.now()
    const found = await find(question)
    times.push(performance.now() - startedAt)
    places.push(found.indexOf(`cap_${question.answer}`))
  }
  const share = (from: readonly number[], most: number) =>
    rounded(from.filter((place) => place >= 0 && place < most).length / Math.max(1, from.length), 3)
  const half = (parity: number) => places.filter((_, index) => index % 2 === parity)
  return {
    recallAt1: share(places, 1),
    recallAt5: share(places, 5),
    recallAt5OfHalves: [share(half(0), 5), share(half(1), 5)],
    p50Ms: rounded(percentile(times, 0.5)),
    p95Ms: rounded(percentile(times, 0.95)),
    missed: questions.filter((_, index) => (places[index] ?? -1) < 0).map(({ answer }) => answer),
  }
}
