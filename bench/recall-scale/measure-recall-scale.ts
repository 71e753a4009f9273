import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createGraph } from '../../src/memory/graph.ts'
import { createMemories } from '../../src/memory/memories.ts'
import { createFindByMeaning } from '../../src/memory/recall/meaning.ts'
import { createRecall } from '../../src/memory/recall/recall.ts'
import { createKnownSpeakers } from '../../src/memory/recall/window-words.ts'
import { createSqliteVectorSearch, openSqlite } from '../../src/storage/sqlite/open-sqlite.ts'
import { askAll, type Figures } from './ask-all.ts'
import { createBenchEmbedder } from './bench-embedder.ts'
import { benchUser, type FillFigures, fillDatabase, idOf } from './fill-database.ts'
import { hashModel, hashVector } from './hash-vector.ts'
import { createLife, type Question } from './life.ts'
import { createPlainText } from './plain-text.ts'

export interface RecallScaleReport {
  /** The limits of the figures. */
  note: string
  sizes: SizeFigures[]
}

interface SizeFigures extends FillFigures {
  memories: number
  /** FTS5 with the words OR-ed, ranked by BM25, in one statement. */
  plainText: Figures
  vectors: Figures
  recall: Figures
  /** Part of `recall`. */
  questionEmbeddingMs: number | null
  /** With the vectors to be loaded. */
  firstVectorSearchMs: number
  bytesPerMemory: number
  rssMegabytes: number
}

const seed = 7
const found = 20

/** One user's database, which grows from size to size and is asked the same kind of questions at each. */
export async function measureRecallScale(options: {
  sizes: readonly number[]
  questions: number
  /** A folder that keeps the filled database for the next run. */
  store: string | undefined
  /** Whether each question also takes the local model's time. True by default. */
  embedsQuestions?: boolean
  say(line: string): void
}): Promise<RecallScaleReport> {
  const { questions, store, say } = options
  const sizes = options.sizes.toSorted((a, b) => a - b)
  const life = createLife({ seed, lines: sizes.at(-1) ?? 0 })
  const folder = store ?? mkdtempSync(join(tmpdir(), 'familiar-recall-scale-'))
  const bench = await openBench(join(folder, 'familiar.db'), folder, options.embedsQuestions)
  try {
    const figures: SizeFigures[] = []
    let filled = bench.count()
    for (const size of sizes.filter((wanted) => wanted >= filled)) {
      say(`filling up from ${filled} to ${size} memories`)
      const fill = await fillDatabase({ ...bench, life, from: filled, to: size, say })
      filled = size
      say(`asking ${questions} questions`)
      const asked = Array.from({ length: questions }, (_, turn) => life.question(Math.floor((turn * size) / questions)))
      figures.push({
        memories: size,
        ...(await bench.measure(asked)),
        bytesPerMemory: Math.round(bench.bytes() / size),
        ...fill,
      })
    }
    return { note: bench.note, sizes: figures }
  } finally {
    await bench.close()
    if (store === undefined) rmSync(folder, { recursive: true })
  }
}

async function openBench(path: string, folder: string, embedsQuestions?: boolean) {
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
  const memories = createMemories({ database, clock, ids: createIds(clock) })
  const vectorSearch = createSqliteVectorSearch({ path, clock })
  const { embedder, usesModel } = await createBenchEmbedder(embedsQuestions)
  const recall = createRecall({
    database,
    memories,
    graph: createGraph({ database, clock }),
    speakers: createKnownSpeakers({ database, now: clock.now }),
    clock,
    timeZone: 'UTC',
    findByMeaning: createFindByMeaning({
      database,
      searchModel: async () => hashModel,
      embedderOf: () => embedder,
      vectorSearch,
      logger: silentLogger,
      clock,
    }),
  })
  const raw = new DatabaseSync(path, { readOnly: true })
  const plainText = createPlainText(raw)
  const numberOf = raw.prepare('select number from memories where id = ?')

  const byVector = async ({ text }: Question) => {
    const vector = hashVector(text)
    const matches = await vectorSearch.search({ userId: benchUser, model: hashModel, vector, limit: found })
    return matches.map(({ number }) => number)
  }
  const byRecall = async ({ text }: Question) => {
    const answers = await recall.recall({ userId: benchUser, text, limit: found })
    return answers.map(({ memory }) => memory.id)
  }
  const id = ({ answer }: Question) => idOf(answer)
  const number = ({ answer }: Question) => numberOf.get(idOf(answer))?.number

  return {
    database,
    memories,
    note: usesModel
      ? 'Vectors are hash projections of words; each question was also embedded by the local model, for its time.'
      : 'Vectors are hash projections of words. No model embedded the questions: that time is missing.',
    bytes: () => statSync(path).size,
    count: () => Number(raw.prepare('select count(*) as count from memories').get()?.count),
    async measure(questions: readonly Question[]) {
      const first = await askAll(questions.slice(0, 1), byVector, number)
      const embed = ({ text }: Question) => embedder.embed([text], 'question')
      return {
        plainText: await askAll(questions, async ({ text }) => plainText(text, found), id),
        vectors: await askAll(questions, byVector, number),
        recall: await askAll(questions, byRecall, id),
        questionEmbeddingMs: usesModel ? (await askAll(questions, embed, id)).p50Ms : null,
        firstVectorSearchMs: first.p50Ms,
        rssMegabytes: Math.round(process.memoryUsage().rss / 1e6),
      }
    },
    async close() {
      raw.close()
      await Promise.all([vectorSearch.close(), embedder.close()])
      await database.close()
    },
  }
}
