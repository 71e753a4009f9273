import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import { createAliases } from '../memory/aliases.ts'
import { createCommitments } from '../memory/commitments.ts'
import { createCorrections } from '../memory/corrections.ts'
import { cachedQuestions } from '../memory/embedding/cached-questions.ts'
import { createEmbedders, type Embedders } from '../memory/embedding/create-embedders.ts'
import { createEmbeddingJob, type EmbeddingJob } from '../memory/embedding/embed-memories.ts'
import type { Embedder } from '../memory/embedding/embedder.ts'
import { localModelFolder } from '../memory/embedding/local/model-files.ts'
import { createEpisodes } from '../memory/episodes.ts'
import { createFacts } from '../memory/facts.ts'
import type { FamiliarMemory } from '../memory/familiar-memory.ts'
import { createFileIndex } from '../memory/files/index-files.ts'
import { createFileWatch, type FileWatch } from '../memory/files/watch-files.ts'
import { createGraph } from '../memory/graph.ts'
import type { AskModel } from '../memory/learning/ask-model.ts'
import { createDeepRecall } from '../memory/learning/deep-recall.ts'
import { createSynthesis } from '../memory/learning/synthesis.ts'
import { createMemories } from '../memory/memories.ts'
import { createEmbeddingText } from '../memory/recall/embedding-text.ts'
import { createFindByMeaning, noMeaning } from '../memory/recall/meaning.ts'
import { readDates } from '../memory/recall/read-dates.ts'
import { createRecall } from '../memory/recall/recall.ts'
import { createKnownSpeakers } from '../memory/recall/speaker-names.ts'
import type { Redactor } from '../secrets/redactor.ts'
import type { Database } from '../storage/database.ts'
import { createToolMeaning, type ToolMeaning } from '../tools/tool-meaning.ts'
import type { Config } from './config/config.ts'

export interface OpenMemory {
  memory: FamiliarMemory
  files: FileWatch
  /** Undefined where nothing is embedded. */
  toolMeaning: ToolMeaning | undefined
  embedder: Embedder | undefined
  /** Begins the work in the background: missing vectors, indexed files, what can no longer be undone. Returns at once. */
  begin(userIds: readonly string[]): void
  /** Before the database closes. */
  close(): Promise<void>
}

/** A unit of writing is committed within this, unless the disk is very slow: then the second look finds it. */
const soonMs = 30
const laterMs = 2_000
const settleMs = 3_000
const dayMs = 24 * 60 * 60 * 1_000

/** Memory, wired: what is written becomes searchable by words in the same unit, by meaning a moment later. */
export function openMemory(dependencies: {
  database: Database
  askModel: AskModel
  config: () => Config
  workspace: string
  clock: Clock
  ids: Ids
  random: () => number
  logger: Logger
  redactor: Pick<Redactor, 'redact'>
  timeZone: string
  /** Sessions in which words were forgotten for good. */
  onSessionsChanged(sessionIds: readonly string[]): void
}): OpenMemory {
  const { database, askModel, config, workspace, clock, ids, logger, timeZone } = dependencies
  const speakers = createKnownSpeakers({ database, now: clock.now })
  const embedding = openEmbedding({ ...dependencies, embeddingText: createEmbeddingText(speakers) })
  const memories = createMemories({
    database,
    clock,
    ids,
    readDates: (text, at) => readDates(text, at, timeZone),
    onWritten: embedding.wakeSoon,
  })
  const graph = createGraph({ database, clock })
  const recall = createRecall({
    database,
    memories,
    graph,
    speakers,
    clock,
    timeZone,
    decay: () => config().memory.decay,
    findByMeaning: embedding.findByMeaning,
  })
  const synthesise = createSynthesis({ askModel, timeZone })
  const index = createFileIndex({ database, memories, clock, workspace })
  const files = createFileWatch({ index, clock, logger })
  const facts = createFacts({ database, clock, memories })
  const corrections = createCorrections({
    database,
    clock,
    ids,
    memories,
    facts,
    onSessionsChanged: dependencies.onSessionsChanged,
  })
  let cancelPurge = () => {}
  let purging: Promise<unknown> = Promise.resolve()

  function purgeDaily(): void {
    purging = corrections.purge().catch((cause) => {
      logger.warn('what can no longer be undone was not erased', { reason: String(cause) })
    })
    cancelPurge = clock.after(dayMs, purgeDaily)
  }

  return {
    memory: {
      memories,
      facts,
      aliases: createAliases({ database }),
      episodes: createEpisodes({ database, memories }),
      commitments: createCommitments({ database, clock, memories }),
      graph,
      corrections,
      files: index,
      recall,
      decayState: async (userId) => ({
        policy: config().memory.decay,
        now: clock.now(),
        cycle: await memories.cycle(userId),
      }),
      deepRecall: createDeepRecall({ recall, graph, memories, askModel, synthesise }),
      embeddingStatus: async (userId) => embedding.job?.status(userId),
    },
    files,
    toolMeaning: embedding.toolMeaning,
    embedder: embedding.embedder,
    begin(userIds) {
      embedding.job?.wake()
      for (const userId of userIds) void files.follow(userId)
      purgeDaily()
    },
    async close() {
      cancelPurge()
      await purging
      await files.close()
      await embedding.close()
    },
  }
}

function openEmbedding(dependencies: {
  database: Database
  config: () => Config
  clock: Clock
  random: () => number
  logger: Logger
  redactor: Pick<Redactor, 'redact'>
  embeddingText: ReturnType<typeof createEmbeddingText>
}) {
  const { database, config, clock, random, logger, embeddingText } = dependencies
  const embedders = createEmbedders(config().memory.embedding, {
    modelFolder: localModelFolder,
    clock,
    random,
    redact: dependencies.redactor.redact,
  })
  const { current } = embedders
  // What looks for tools asks the same question of each kind of them.
  const asked = current && cachedQuestions(current)
  const job =
    current &&
    createEmbeddingJob({ database, embedder: current, olderEmbedder: embedders.byModel, clock, logger, embeddingText })
  const wakeSoon = createWakeSoon(clock, job)
  return {
    job,
    embedder: asked,
    toolMeaning: asked && createToolMeaning({ database, embedder: asked, logger }),
    wakeSoon: wakeSoon.wake,
    findByMeaning: job
      ? createFindByMeaning({
          database,
          searchModel: job.searchModel,
          embedderOf: questionEmbedders(embedders),
          vectorSearch: database.vectorSearch,
          logger,
          clock,
        })
      : noMeaning,
    async close() {
      // A command without a daemon ends with its answer: what it was told must be found by meaning in the next one.
      if (wakeSoon.cancel()) job?.wake()
      await job?.settle(settleMs)
      await job?.close()
      await embedders.close()
    },
  }
}

/** A turn asks the same question in several places: the embedding of the latest ones is kept. */
function questionEmbedders(embedders: Embedders): (model: string) => Embedder | undefined {
  const cached = new Map<string, Embedder>()
  return (model) => {
    const known = cached.get(model)
    if (known) return known
    const embedder = embedders.byModel(model)
    if (embedder) cached.set(model, cachedQuestions(embedder))
    return cached.get(model)
  }
}

/** Writers tell inside their unit, and what they wrote can be seen only after it: so a moment later, and once more. */
function createWakeSoon(clock: Clock, job: EmbeddingJob | undefined) {
  let cancelSoon: (() => void) | undefined
  let cancelLater = () => {}
  return {
    wake() {
      if (!job || cancelSoon) return
      cancelSoon = clock.after(soonMs, () => {
        cancelSoon = undefined
        job.wake()
        cancelLater()
        cancelLater = clock.after(laterMs, () => job.wake())
      })
    },
    /** True where a wake was still to come. */
    cancel() {
      const wasDue = cancelSoon !== undefined
      cancelSoon?.()
      cancelLater()
      return wasDue
    },
  }
}
