import { createCompaction } from '../agent/compaction.ts'
import type { Conversations } from '../agent/conversations.ts'
import { createConversations } from '../agent/create-conversations.ts'
import { createLiveResponses } from '../agent/live-responses.ts'
import type { OnStep } from '../agent/step.ts'
import { createTurns } from '../agent/turns.ts'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import { createTextFileCache } from '../base/text-file.ts'
import { createWakeups } from '../base/wakeups.ts'
import { createContext } from '../context/context.ts'
import { createLedger } from '../cost/ledger.ts'
import { toNanousd } from '../cost/money.ts'
import { createNotes, type Notes } from '../memory/notes.ts'
import type { Models } from '../models/models.ts'
import { createMonitor, type Monitor, type MonitorState } from '../monitor/monitor.ts'
import { FamiliarError } from '../protocol/error.ts'
import { createInbox } from '../sessions/inbox.ts'
import { createMediaStore, type MediaStore } from '../sessions/media-store.ts'
import { createOpenSessions } from '../sessions/open-sessions.ts'
import { createSessionLog } from '../sessions/session-log.ts'
import { createSessions } from '../sessions/sessions.ts'
import { createSnapshots } from '../sessions/snapshots.ts'
import type { Database } from '../storage/database.ts'
import { createBuiltinTools } from '../tools/builtin/builtin-tools.ts'
import { createFindTools } from '../tools/find-tools.ts'
import { createToolRegistry } from '../tools/registry.ts'
import type { Tool } from '../tools/tool.ts'
import type { Config } from './config/config.ts'
import { describeStatus } from './describe-status.ts'
import { openHistory } from './open-history.ts'

export interface Core {
  conversations: Conversations
  monitor: Monitor
  media: MediaStore
  notes: Notes
}

const recalledNotes = 8

/**
 * Everything between the ways in and the database, wired. Owns nothing outside: whoever opened the database and made
 * the models closes them, after `conversations.close` and `monitor.close`.
 */
export function createCore(dependencies: {
  database: Database
  models: Models
  /** Read at every use, so that a reload takes effect at once. */
  config: () => Config
  workspace: string
  mediaDirectory: string
  publishMonitor(state: MonitorState): Promise<void>
  clock: Clock
  ids: Ids
  random: () => number
  logger: Logger
  timeZone: string
  /** Tools beside the built-in ones. */
  extraTools?: readonly Tool[]
  onStep?: OnStep
}): Core {
  const { database, models, config, clock, ids, random, logger, timeZone, onStep = () => undefined } = dependencies
  const wakeups = createWakeups()
  const log = createSessionLog({ database, clock, wakeups })
  const sessions = createSessions({ database, clock, ids })
  const openSessions = createOpenSessions({ log, snapshots: createSnapshots({ database }) })
  const inbox = createInbox({
    database,
    sessions,
    clock,
    ids,
    refuseOverload: (sessionId) => refuseOverload(config(), conversations, sessionId),
  })
  const ledger = createLedger({ database, clock, ids, caps: () => capsOf(config()) })
  const monitor = createMonitor({ clock, publish: dependencies.publishMonitor })
  const media = createMediaStore({ database, directory: dependencies.mediaDirectory, clock })
  const notes = createNotes({ database, clock, ids })
  const live = createLiveResponses(log.wake)
  const context = createContext({
    workspace: dependencies.workspace,
    tiers: () => config().agent.context.tiers,
    readTextFile: createTextFileCache(clock, 100),
    timeZone,
  })
  const startedAt = clock.now()
  const tools = createToolRegistry(
    [
      ...createBuiltinTools({
        notes,
        timeZone,
        describeStatus: (call) => describeStatus({ database, models, clock, startedAt }, call),
        openHistory: (range) => openHistory({ log, sessions }, range),
      }),
      ...(dependencies.extraTools ?? []),
    ],
    () => config().tools.enabled,
  )
  tools.add(createFindTools({ registry: tools }))

  const turns = createTurns({
    database,
    log,
    openSessions,
    inbox,
    ledger,
    monitor,
    models,
    tools,
    context,
    live,
    async recall({ userId, text }) {
      const found = await notes.recall({ userId, query: text, limit: recalledNotes })
      return found.map(({ note }) => ({ id: note.id, text: note.content, at: note.createdAt }))
    },
    loadMedia: media.load,
    clock,
    ids,
    random,
    logger,
    limits: () => ({ maxRounds: config().agent.maxRounds }),
    onStep,
  })
  const compaction = createCompaction({
    database,
    log,
    openSessions,
    ledger,
    models,
    clock,
    random,
    logger,
    settings: () => config().compaction,
    onStep,
  })
  const conversations: Conversations = createConversations({
    log,
    openSessions,
    sessions,
    inbox,
    turns,
    compaction,
    ledger,
    context,
    tools,
    live,
    clock,
    ids,
    logger,
    settings: {
      debounceMs: config().sessions.debounceMs,
      maxConcurrentTurns: config().sessions.maxConcurrentTurns,
      maxMessageCharacters: 200_000,
      tierOf: (source) => config().agent.context.sources[source] ?? 'full',
    },
    onStep,
  })
  return { conversations, monitor, media, notes }
}

function refuseOverload({ sessions }: Config, conversations: Conversations, sessionId: string): void {
  const { waiting, waitingHere } = conversations.load(sessionId)
  const where = waitingHere >= sessions.maxQueuedPerSession ? 'in this session' : 'in all'
  if (waitingHere < sessions.maxQueuedPerSession && waiting < sessions.maxQueued) return
  throw new FamiliarError('rate_limited', `Too many messages wait ${where}`, { retryAfterSeconds: 5 })
}

function capsOf({ budget }: Config) {
  return {
    perMessageNanousd: toNanousd(budget.perMessageUsd),
    perDayNanousd: toNanousd(budget.perDayUsd),
    perMonthNanousd: budget.perMonthUsd === null ? null : toNanousd(budget.perMonthUsd),
  }
}
