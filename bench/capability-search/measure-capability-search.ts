import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { estimateTokens } from '../../src/base/tokens.ts'
import { createCapabilityCatalog } from '../../src/custom-tools/built-catalog.ts'
import { capabilityLines } from '../../src/custom-tools/capabilities.ts'
import { createCapabilityShelf } from '../../src/custom-tools/custom-tool.ts'
import { createFindTools } from '../../src/custom-tools/find-tools.ts'
import { createCapabilitySearch } from '../../src/custom-tools/search.ts'
import { createVersionStore } from '../../src/custom-tools/versions.ts'
import { cachedQuestions, type Embedder } from '../../src/memory/embedding/embedders.ts'
import { createLocalEmbedder, localModelFolder } from '../../src/memory/embedding/local-embedder.ts'
import { openSqlite } from '../../src/storage/sqlite/open-sqlite.ts'
import { createToolRegistry } from '../../src/tools/registry.ts'
import { toolContext } from '../../test/support/tool-context.ts'
import { parallelEmbedder } from '../recall/parallel-embedder.ts'
import { rounded } from '../statistics.ts'
import { askAll, type Figures } from './ask-all.ts'
import { type BenchCapability, makeDistractors, readTargets } from './capability-set.ts'
import { benchUser, fillCatalog } from './fill-catalog.ts'
import { measureOverlap, repeatsSample, sharesItsSamples, sharesItsWords, type WordOverlap } from './word-overlap.ts'

export interface CapabilitySearchReport {
  note: string
  /** Of the whole sets; what smaller sizes ask is their beginning. */
  overlap: Record<SetName, WordOverlap>
  sizes: SizeFigures[]
}

type SetName = 'plain' | 'hints' | 'fresh'

interface SizeFigures {
  capabilities: number
  questions: number
  sets: Record<SetName, SetFigures>
  /** The tokens of the lines in the prompt. */
  promptTokens: number
  /** From rows and vectors on disk to a catalog and indexes in memory. */
  startMs: number
  rssMegabytes: number
}

interface SetFigures {
  /** With a warm model, the question's embedding included. */
  findTools: Figures
  wordsOnly: Figures
  /** As if no capability said how it is asked for. */
  withoutSamples: Figures
  /** Of the first, the questions that have no word in common with the name and the description of their answer … */
  unlikeItsWords: Subset
  /** … none with its samples … */
  unlikeItsSamples: Subset
  /** … and those that are not nearly one of its samples. */
  notRepeated: Subset
}

interface Subset {
  questions: number
  recallAt5: number
}

const seed = 7

/** Asks `find_tools` three times 200 hand-written questions among more and more capabilities that look real. */
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
      'Targets, their samples and all questions are hand-written, the other capabilities and their samples generated: ' +
      'nearly a quarter of them about the subjects of the targets. The samples were written from names and descriptions ' +
      'alone, before any question was looked at. The hints are older than samples, tags and plain questions, and by ' +
      'another hand. The fresh questions have no word of the name or the description; they are by the hand that wrote the ' +
      'samples, and were asked in another way where they repeated several words of these. Every second question chose the ' +
      'weight of words; that the middle of the vectors is compared was chosen with all questions in view.'
    const overlap = await measureSets(async (name) => measureOverlap(askedIn(name, targets.questions)))
    return { note, overlap, sizes: figures }
  } finally {
    await embedder.close()
    if (store === undefined) rmSync(folder, { recursive: true })
  }
}

const targets = readTargets()
const targetOf = new Map(targets.capabilities.map((capability) => [capability.name, capability]))
const unknown: BenchCapability = { name: '', description: '', tags: [], askedAs: [] }

function askedIn(set: SetName, questions: typeof targets.questions) {
  const texts = { plain: 'text', hints: 'hint', fresh: 'fresh' } as const
  return questions.map((question) => ({
    text: question[texts[set]],
    answer: question.answer,
    capability: targetOf.get(question.answer) ?? unknown,
  }))
}

async function measureSets<T>(measure: (name: SetName) => Promise<T>): Promise<Record<SetName, T>> {
  return { plain: await measure('plain'), hints: await measure('hints'), fresh: await measure('fresh') }
}

async function measureSize(options: {
  size: number
  folder: string
  embedder: Embedder
  say(line: string): void
}): Promise<SizeFigures> {
  const { size, folder, embedder, say } = options
  const capabilities = [...targets.capabilities, ...makeDistractors(seed)].slice(0, size)
  if (capabilities.length < size) throw new Error(`There are only ${capabilities.length} capabilities`)
  const questions = targets.questions.slice(0, size)
  const silent = capabilities.map((capability) => ({ ...capability, askedAs: [] }))
  const bare = await openBench({ path: join(folder, `capabilities-${size}-bare.db`), folder, capabilities: silent })
  const full = await openBench({ path: join(folder, `capabilities-${size}.db`), folder, capabilities })
  try {
    // Once so that there are vectors, and once more as at any later start.
    await (await bare.open(embedder)).close()
    const before = await bare.open(cachedQuestions(embedder))
    const withoutSamples = await measureSets((set) => askAll(askedIn(set, questions), before.find))
    await before.close()
    await (await full.open(embedder)).close()
    const startedAt = performance.now()
    const { catalog, find, close } = await full.open(cachedQuestions(embedder))
    const startMs = performance.now() - startedAt
    say(`asking ${questions.length} questions of each set`)
    // The model and the compiled code are warm in a daemon that has been asked before.
    for (const { text } of questions) await find(`${text} please`)
    const withSamples = await measureSets((set) => askAll(askedIn(set, questions), find))
    const rssMegabytes = Math.round(process.memoryUsage().rss / 1e6)
    const words = await full.open(undefined)
    const sets = await measureSets(async (set) => {
      const asked = askedIn(set, questions)
      const findTools = withSamples[set]
      const subset = (belongs: (one: (typeof asked)[number]) => boolean): Subset => {
        const chosen = asked.filter(belongs)
        const found = chosen.filter(({ answer }) => !findTools.missed.includes(answer))
        return { questions: chosen.length, recallAt5: rounded(found.length / Math.max(1, chosen.length), 3) }
      }
      return {
        findTools,
        wordsOnly: await askAll(asked, words.find),
        withoutSamples: withoutSamples[set],
        unlikeItsWords: subset((one) => !sharesItsWords(one)),
        unlikeItsSamples: subset((one) => !sharesItsSamples(one)),
        notRepeated: subset((one) => !repeatsSample(one)),
      }
    })
    const promptTokens = estimateTokens(capabilityLines(catalog.list(benchUser)) ?? '')
    await Promise.all([close(), words.close()])
    return {
      capabilities: size,
      questions: questions.length,
      sets,
      promptTokens,
      startMs: rounded(startMs, 0),
      rssMegabytes,
    }
  } finally {
    await Promise.all([bare.close(), full.close()])
  }
}

/** A catalog on the disk that can be opened as at a start of the program, with `find_tools` over it. */
async function openBench(options: { path: string; folder: string; capabilities: readonly BenchCapability[] }) {
  const { path, folder, capabilities } = options
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
  return {
    async open(model: Embedder | undefined) {
      const catalog = createCapabilityCatalog(dependencies)
      await catalog.start()
      const search = createCapabilitySearch({ catalog, database, embedder: model, logger: silentLogger })
      await search.start()
      await search.settled()
      const runs = { run: () => Promise.reject(new Error('nothing runs here')) }
      const registry = createToolRegistry()
      registry.addShelf(createCapabilityShelf({ catalog, runs, afterFailure: async () => undefined }))
      const findTools = createFindTools({ registry, capabilities: search })
      const find = async (query: string) =>
        (await findTools.run({ query }, toolContext({ userId: benchUser }))).foundTools ?? []
      return { catalog, find, close: () => search.close() }
    },
    close: () => database.close(),
  }
}
