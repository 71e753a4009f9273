import type { Clock } from '../../src/base/clock.ts'
import type { Ids } from '../../src/base/ids.ts'
import { createFindTools } from '../../src/custom-tools/find-tools.ts'
import { createCommitments } from '../../src/memory/commitments.ts'
import { createCorrections } from '../../src/memory/corrections.ts'
import { readDates } from '../../src/memory/dates.ts'
import { createEpisodes } from '../../src/memory/episodes.ts'
import { createFacts } from '../../src/memory/facts.ts'
import { createFileIndex } from '../../src/memory/files/index-files.ts'
import { createGraph } from '../../src/memory/graph.ts'
import type { AskModel } from '../../src/memory/learning/ask-model.ts'
import { createDeepRecall, createSynthesis } from '../../src/memory/learning/deep-recall.ts'
import { createMemories } from '../../src/memory/memories.ts'
import { createAliases } from '../../src/memory/names.ts'
import { createRecall } from '../../src/memory/recall/recall.ts'
import { createKnownSpeakers } from '../../src/memory/recall/window-words.ts'
import type { Json } from '../../src/protocol/messages.ts'
import type { Database } from '../../src/storage/database.ts'
import { createBuiltinTools } from '../../src/tools/builtin/builtin-tools.ts'
import type { HistoryEntry } from '../../src/tools/builtin/memory-query.ts'
import { createToolRegistry } from '../../src/tools/registry.ts'
import type { ToolContext, ToolOutcome } from '../../src/tools/tool.ts'
import { noModel } from './learning-memory.ts'

/** Everything of memory over a database, and the tools over that. */
export function createMemoryTools(options: {
  database: Database
  clock: Clock
  ids: Ids
  workspace: string
  timeZone?: string
  askModel?: AskModel
  history?: readonly HistoryEntry[]
}) {
  const { database, clock, ids, workspace, timeZone = 'UTC', history = [] } = options
  const memories = createMemories({ database, clock, ids, readDates: (text, at) => readDates(text, at, timeZone) })
  const graph = createGraph({ database, clock })
  const speakers = createKnownSpeakers({ database, now: clock.now })
  const recall = createRecall({ database, memories, graph, speakers, clock, timeZone })
  const askModel = options.askModel ?? (async () => noModel)
  const facts = createFacts({ database, clock, memories })
  const memory = {
    memories,
    graph,
    recall,
    facts,
    aliases: createAliases({ database }),
    episodes: createEpisodes({ database, memories }),
    commitments: createCommitments({ database, clock, ids, memories }),
    corrections: createCorrections({ database, clock, ids, memories, facts }),
    files: createFileIndex({ database, memories, clock, workspace }),
    deepRecall: createDeepRecall({
      recall,
      graph,
      memories,
      askModel,
      synthesise: createSynthesis({ askModel, timeZone }),
    }),
  }
  const registry = createToolRegistry(
    createBuiltinTools({
      ...memory,
      clock,
      timeZone,
      describeStatus: async ({ userId }) => `Up 2 hours. ${userId} spent $0.00 today.`,
      openHistory: async ({ before = history.length, limit }) => history.slice(0, before).slice(-limit),
    }),
  )
  registry.add(createFindTools({ registry }))

  async function run(name: string, input: Json, given: Partial<ToolContext> = {}): Promise<ToolOutcome> {
    const tool = registry.find(name)
    if (!tool) throw new Error(`no tool ${name}`)
    return await tool.run(input, {
      userId: 'max',
      sessionId: 'session',
      turnId: 'turn',
      callId: 'call',
      userText: '',
      answers: null,
      seen: { untrusted: false, private: false },
      signal: new AbortController().signal,
      mayFollow: async () => true,
      progress: () => {},
      ...given,
    })
  }
  return { ...memory, registry, run }
}

export type MemoryTools = ReturnType<typeof createMemoryTools>

/** The id in the first citation of a text. */
export function citedId(text: string): string {
  return /\[memory:([\w-]+)\]/.exec(text)?.[1] ?? ''
}
