import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import type { Embedders } from '../../src/memory/embedding/embedders.ts'
import { createGraph } from '../../src/memory/graph.ts'
import { createMemories } from '../../src/memory/memories.ts'
import { createFindByMeaning } from '../../src/memory/recall/meaning.ts'
import { createRecall, type Recall } from '../../src/memory/recall/recall.ts'
import { createKnownSpeakers } from '../../src/memory/recall/window-words.ts'
import type { Database } from '../../src/storage/database.ts'
import { openSqlite } from '../../src/storage/sqlite/open-sqlite.ts'
import { median, percentile, rounded } from '../statistics.ts'
import { askClassic, askPlainText, fillPlainText } from './contestants.ts'
import { docOf, embedStore, fillStore, openEmbedders } from './fill-store.ts'
import { type Doc, type Query, readDocs, readQueries } from './recall-data.ts'
import { copyVectors, openPostgresBeside, type RecallEngine } from './recall-engine.ts'
import { meanScore, type RankingScore, scoreRanking } from './score-ranking.ts'

type Figures = RankingScore & { questions: number; p50Ms: number; p95Ms: number }

const rankedDocs = 50
// A long doc is several memories: more are asked for, so that fifty docs come of them.
const askedMemories = 150

/** Familiar's recall beside two plain rankers, over the same docs and questions, in one run. */
export async function measureRecall(options: {
  docs: string
  queries: string
  /** The file for the rankings, one per line. */
  out: string | undefined
  /** A folder that keeps the filled store for the next run. */
  store: string | undefined
  engine: RecallEngine
  say(line: string): void
}): Promise<{ contestants: Record<string, Figures>; categories: Record<string, Figures> }> {
  const { say } = options
  const docs = readDocs(options.docs)
  const queries = readQueries(options.queries)
  const folder = options.store ?? mkdtempSync(join(tmpdir(), 'familiar-recall-'))
  const path = join(folder, 'familiar.db')
  const filled = await openSqlite({ path, clock: systemClock(), snapshotDirectory: folder })
  const embedders = openEmbedders()
  let database: Database = filled
  try {
    await fillStore(filled, docs, say)
    await embedStore(filled, embedders, say)
    if (options.engine !== 'sqlite') {
      database = await openPostgresBeside(options.engine)
      await fillStore(database, docs, say)
      await copyVectors(filled, database)
    }
    say(`searching by meaning with ${await database.vectorSearch.describe()}`)
    const recall = openRecall({ database, embedders })
    const byId = new Map(docs.map((doc) => [doc.id, doc]))
    const run = (name: string, ask: Ask) => askAll({ name, ask, queries, byId, say })

    // Warm: the process and the vectors are loaded once, not for every question.
    for (const { space } of new Map(queries.map((query) => [query.space, query])).values()) {
      await recall.recall({ userId: space, text: 'warming up', limit: 1 })
    }
    const familiar = await run('familiar', async ({ space, text }) => {
      const found = await recall.recall({ userId: space, text, limit: askedMemories, reach: 'everything' })
      return [...new Set(found.map(({ memory }) => docOf(memory.id)))].slice(0, rankedDocs)
    })
    if (options.out !== undefined) {
      const lines = familiar.rankings.map(({ qid, ranked, ms }) => JSON.stringify({ qid, ranked, ms }))
      writeFileSync(options.out, `${lines.join('\n')}\n`)
    }
    const raw = new DatabaseSync(':memory:')
    const texts = docs.map(({ id, space, text, caption }) => ({ id, space, text: `${text} ${caption}` }))
    fillPlainText(raw, texts)
    const plain = await run('fts5-or', async ({ space, text }) => askPlainText(raw, space, text, rankedDocs))
    const bySpace = Map.groupBy(texts, ({ space }) => space)
    const classic = await run('keywords', async ({ space, text }) =>
      askClassic(bySpace.get(space) ?? [], text, rankedDocs),
    )
    return {
      contestants: { familiar: familiar.figures, 'fts5-or': plain.figures, keywords: classic.figures },
      categories: familiar.categories,
    }
  } finally {
    await embedders.close()
    await database.close()
    await filled.close()
    if (options.store === undefined) rmSync(folder, { recursive: true })
  }
}

type Ask = (query: Query) => Promise<string[]>

function openRecall({ database, embedders }: { database: Database; embedders: Embedders }): Recall {
  const clock = systemClock()
  const memories = createMemories({ database, clock, ids: createIds(clock) })
  return createRecall({
    database,
    memories,
    graph: createGraph({ database, clock }),
    speakers: createKnownSpeakers({ database, now: clock.now }),
    clock,
    timeZone: 'UTC',
    findByMeaning: createFindByMeaning({
      database,
      searchModel: async () => embedders.current?.model ?? '',
      embedderOf: embedders.byModel,
      vectorSearch: database.vectorSearch,
      clock,
      logger: { ...silentLogger, warn: (message, data) => console.error(message, data) },
    }),
  })
}

async function askAll({
  name,
  ask,
  queries,
  byId,
  say,
}: {
  name: string
  ask: Ask
  queries: readonly Query[]
  byId: ReadonlyMap<string, Doc>
  say(line: string): void
}) {
  const rankings: { qid: string; ranked: string[]; ms: number; cat: string; score: RankingScore }[] = []
  for (const query of queries) {
    const begun = performance.now()
    const ranked = await ask(query)
    const ms = rounded(performance.now() - begun)
    rankings.push({ qid: query.qid, ranked, ms, cat: query.cat, score: scoreRanking(query, ranked, byId) })
  }
  say(`${name}: asked ${queries.length} questions`)
  const figuresOf = (part: typeof rankings): Figures => ({
    questions: part.length,
    ...meanScore(part.map(({ score }) => score)),
    p50Ms: rounded(median(part.map(({ ms }) => ms))),
    p95Ms: rounded(
      percentile(
        part.map(({ ms }) => ms),
        0.95,
      ),
    ),
  })
  const categories = Array.from(
    Map.groupBy(rankings, ({ cat }) => cat),
    ([cat, part]) => [cat, figuresOf(part)] as const,
  )
  return { rankings, figures: figuresOf(rankings), categories: Object.fromEntries(categories) }
}
