import type { Clock } from '../base/clock.ts'
import type { HttpMemory } from '../http/dependencies.ts'
import { createCommitments } from '../memory/commitments.ts'
import { createCorrections } from '../memory/corrections.ts'
import { readDates } from '../memory/dates.ts'
import { countMemories } from '../memory/decay.ts'
import { createEmbeddingJob, type EmbeddingJob } from '../memory/embedding/embed-memories.ts'
import { cachedQuestions, createEmbedders, type Embedder, type Embedders } from '../memory/embedding/embedders.ts'
import { localModelFolder } from '../memory/embedding/local-embedder.ts'
import { createEpisodes } from '../memory/episodes.ts'
import { createFacts } from '../memory/facts.ts'
import type { FamiliarMemory } from '../memory/familiar-memory.ts'
import { createFileIndex } from '../memory/files/index-files.ts'
import { createFileWatch } from '../memory/files/watch-files.ts'
import { createGraph } from '../memory/graph.ts'
import type { AskModel } from '../memory/learning/ask-model.ts'
import { createDeepRecall, createSynthesis } from '../memory/learning/deep-recall.ts'
import { createMemories } from '../memory/memories.ts'
import { createAliases } from '../memory/names.ts'
import { createEmbeddingText, createFindByMeaning, noMeaning } from '../memory/recall/meaning.ts'
import { createRecall } from '../memory/recall/recall.ts'
import { createKnownSpeakers } from '../memory/recall/window-words.ts'
import { createToolMeaning } from '../tools/registry.ts'
import type { Essentials } from './daemon.ts'

/** A write unit is committed within this, unless the disk is very slow: then the second check finds it. */
const soonMs = 30
const laterMs = 2_000
const settleMs = 3_000
const dayMs = 24 * 60 * 60 * 1_000

/** Memory, wired: new text is searchable by words in the same unit, by meaning a moment later. */
export function openMemory(
  dependencies: Essentials & {
    askModel: AskModel
    userIds: () => readonly string[]
    random: () => number
    /** Sessions in which text was forgotten permanently. */
    onSessionsChanged(sessionIds: readonly string[]): Promise<void> | void
  },
) {
  const { database, askModel, config, paths, clock, ids, logger, timeZone } = dependencies
  const base = { database, clock, ids, logger, timeZone }
  const speakers = createKnownSpeakers({ database, now: clock.now })
  const embedding = openEmbedding({ ...dependencies, embeddingText: createEmbeddingText(speakers) })
  const memories = createMemories({
    ...base,
    readDates: (text, at) => readDates(text, at, timeZone),
    onWritten: embedding.wakeSoon,
  })
  const graph = createGraph({ database, clock })
  const recall = createRecall({
    ...base,
    memories,
    graph,
    speakers,
    decay: () => config().memory.decay,
    findByMeaning: embedding.findByMeaning,
  })
  const synthesise = createSynthesis({ askModel, timeZone })
  const index = createFileIndex({ ...base, memories, workspace: paths.workspace })
  const files = createFileWatch({ index, clock, logger })
  const facts = createFacts({ database, clock, memories })
  const { onSessionsChanged } = dependencies
  const corrections = createCorrections({ ...base, memories, facts, onSessionsChanged })
  let cancelPurge = () => {}
  let purging: Promise<unknown> = Promise.resolve()

  function purgeDaily(): void {
    purging = corrections.purge().catch((cause) => {
      logger.warn('could not erase expired changes', { reason: String(cause) })
    })
    cancelPurge = clock.after(dayMs, purgeDaily)
  }

  return {
    memory: {
      memories,
      facts,
      aliases: createAliases({ database }),
      episodes: createEpisodes({ database, memories }),
      commitments: createCommitments({ database, clock, ids, memories }),
      graph,
      corrections,
      files: index,
      recall,
      decayState: async (userId: string) => ({
        policy: config().memory.decay,
        now: clock.now(),
        cycle: await memories.cycle(userId),
      }),
      deepRecall: createDeepRecall({ recall, graph, memories, askModel, synthesise }),
      embeddingStatus: async (userId: string) => embedding.job?.status(userId),
    } satisfies FamiliarMemory,
    files,
    /** Undefined if nothing is embedded, like the embedder. */
    toolMeaning: embedding.toolMeaning,
    embedder: embedding.embedder,
    /** Starts the work in the background: missing vectors, indexed files, the daily purge. Returns at once. */
    lead() {
      embedding.job?.wake()
      for (const userId of dependencies.userIds()) void files.follow(userId)
      purgeDaily()
    },
    async stop() {
      cancelPurge()
      await purging
      await files.close()
      await embedding.close()
    },
  }
}

function openEmbedding(
  dependencies: Essentials & { random: () => number; embeddingText: ReturnType<typeof createEmbeddingText> },
) {
  const { database, atStart, clock, random, logger, redactor, embeddingText } = dependencies
  const { redact } = redactor
  const embedders = createEmbedders(atStart.memory.embedding, { modelFolder: localModelFolder, clock, random, redact })
  const { current } = embedders
  // The tool search asks the same question for each kind of tool.
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
      // A command without a daemon ends with its answer: its text must be found by meaning in the next one.
      if (wakeSoon.cancel()) job?.wake()
      await job?.settle(settleMs)
      await job?.close()
      await embedders.close()
    },
  }
}

/** A turn asks the same question in several places: the latest embeddings are cached. */
function questionEmbedders(embedders: Embedders): (model: string) => Embedder | undefined {
  const cached = new Map<string, Embedder>()
  return (model) => {
    const embedder = cached.has(model) ? undefined : embedders.byModel(model)
    if (embedder) cached.set(model, cachedQuestions(embedder))
    return cached.get(model)
  }
}

/**
 * Writers call it inside their unit, and their data is visible only afterwards: so it wakes a moment later, and once
 * more.
 */
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
    /** True if a wake was pending. */
    cancel() {
      const wasDue = cancelSoon !== undefined
      cancelSoon?.()
      cancelLater()
      return wasDue
    },
  }
}

/** Memory for the HTTP API. */
export function httpMemory(
  options: Pick<Essentials, 'database' | 'clock'> &
    Pick<HttpMemory, 'memory' | 'learning' | 'followFiles' | 'spoolDirectory' | 'timeZone'>,
): HttpMemory {
  const { database, clock, memory, learning, followFiles, spoolDirectory, timeZone } = options
  const { memories, files } = memory
  return {
    memory,
    learning,
    followFiles,
    spoolDirectory,
    timeZone,
    countMemories: (userId) => countMemories({ database, clock }, userId),
    databaseBytes: database.sizeInBytes,
    // Both are loaded on demand.
    async *exportMemories(request) {
      const { exportRecords: exportMemories } = await import('../memory/transfer/export-memories.ts')
      yield* exportMemories({ database, memories, folders }, request)
    },
    async importMemories(request) {
      const { importRecords: importMemories } = await import('../memory/transfer/import-memories.ts')
      return importMemories({ database, memories, clock, addFolder: files.addRoot }, request)
    },
  }

  /** The workspace's own folders are everywhere: only those that the user added are listed. */
  async function folders(userId: string): Promise<string[]> {
    const roots = await files.roots(userId)
    return roots.filter((root) => !root.isWorkspace).map((root) => root.path)
  }
}
