import { createAnswerApproval } from '../agent/answer-approval.ts'
import { createAskModel } from '../agent/ask-model.ts'
import { createBeginCalls } from '../agent/begin-calls.ts'
import { createCallRecords } from '../agent/call-records.ts'
import { createClientCalls } from '../agent/client-tools/create-client-calls.ts'
import { createCompaction } from '../agent/compaction.ts'
import type { Conversations } from '../agent/conversations.ts'
import { createConversations } from '../agent/create-conversations.ts'
import { createLearning, type Learning } from '../agent/learning.ts'
import { createLiveResponses } from '../agent/live-responses.ts'
import { shareLiveResponses } from '../agent/shared/shared-live-responses.ts'
import { createSharedTurns } from '../agent/shared/shared-turns.ts'
import type { OnStep } from '../agent/step.ts'
import { createSubagents } from '../agent/subagents/create-subagents.ts'
import { createMessageOrigins } from '../agent/telemetry/message-origins.ts'
import { watchTurns } from '../agent/telemetry/watch-turns.ts'
import { createTurns } from '../agent/turns.ts'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import { createTextFileCache, readBundledText } from '../base/text-file.ts'
import { createWakeups } from '../base/wakeups.ts'
import { createContext } from '../context/context.ts'
import { createRecallForTurn } from '../context/recall-for-turn.ts'
import { watchRecall } from '../context/watch-recall.ts'
import { capsOf, capsOfBudget } from '../cost/caps-of-tier.ts'
import { createLedger } from '../cost/ledger.ts'
import type { Embedder } from '../memory/embedding/embedder.ts'
import type { FamiliarMemory } from '../memory/familiar-memory.ts'
import { readWorkspaceFiles } from '../memory/files/read-workspace-files.ts'
import type { AskModel } from '../memory/learning/ask-model.ts'
import { createFileConsolidation } from '../memory/learning/consolidate-file.ts'
import { createConsolidation } from '../memory/learning/consolidation.ts'
import { createExtraction } from '../memory/learning/extraction.ts'
import { createConversationIndex } from '../memory/learning/index-conversation.ts'
import { createProceduralMemory } from '../memory/procedural.ts'
import type { Models } from '../models/models.ts'
import { modelsOfUser } from '../models/models-of-user.ts'
import { redactModels } from '../models/redact-models.ts'
import { watchModels } from '../models/watch-models.ts'
import { createMonitor, type Monitor, type MonitorState } from '../monitor/monitor.ts'
import { createSilentTelemetry, type Telemetry } from '../monitor/telemetry/telemetry.ts'
import { createApprovals } from '../policy/approvals.ts'
import { allowsModel, allowsTool, routeOf } from '../policy/users/tier.ts'
import type { Users } from '../policy/users/users.ts'
import { redactBytes } from '../secrets/redact-bytes.ts'
import { redactJson } from '../secrets/redact-json.ts'
import type { Redactor } from '../secrets/redactor.ts'
import { createInbox } from '../sessions/inbox.ts'
import { createMediaStore, type MediaStore } from '../sessions/media-store.ts'
import { createOpenSessions } from '../sessions/open-sessions.ts'
import { createRefuseOverload, createSharedDepth } from '../sessions/overload.ts'
import { createSessionLog, type SessionLog } from '../sessions/session-log.ts'
import { createSessionViews, type SessionViews } from '../sessions/session-views.ts'
import { createSessions, type Sessions } from '../sessions/sessions.ts'
import { createSnapshots } from '../sessions/snapshots.ts'
import type { SharedPlace } from '../storage/blobs/shared-place.ts'
import type { Database } from '../storage/database.ts'
import type { Fleet } from '../storage/fleet.ts'
import { createSharedWakeups } from '../storage/shared-wakeups.ts'
import { createBuiltinTools } from '../tools/builtin/builtin-tools.ts'
import { createFindTools } from '../tools/find-tools.ts'
import { redactTool } from '../tools/redact-tool.ts'
import { createToolRegistry, type ToolRegistry } from '../tools/registry.ts'
import { createSubagentTools } from '../tools/subagents/subagent-tools.ts'
import type { Tool } from '../tools/tool.ts'
import type { ToolAudit } from '../tools/tool-audit.ts'
import { watchTool } from '../tools/watch-tool.ts'
import type { Config } from './config/config.ts'
import { declaredDestinations } from './declared-destinations.ts'
import { describeStatus } from './describe-status.ts'
import { starterFiles } from './home.ts'
import { openMemory } from './memory.ts'
import { openHistory } from './open-history.ts'
import { createRoles, type Roles } from './roles.ts'

export interface Core {
  conversations: Conversations
  monitor: Monitor
  media: MediaStore
  tools: ToolRegistry
  /** Of questions and of what is found by meaning; undefined where nothing is embedded. */
  embedder: Embedder | undefined
  /** Who else works in sessions, and what it tells the one that speaks. Before anything is recovered. */
  useRoles: Roles['use']
  useWorkspace: Roles['useWorkspace']
  /** Single questions to the fast model. */
  askModel: AskModel
  modelsOf(userId: string): Models
  chooseModel: Sessions['chooseModel']
  log: SessionLog
  views: SessionViews
  memory: FamiliarMemory
  learning: Learning
  /** Watches the folders that the user has indexed. Returns at once. */
  followFiles(userId: string): void
  /** Begins to take turns that any daemon may take; nothing where this one is alone. */
  takeTurns(): Promise<void>
  /** Takes up what an earlier run left: the learning, the embedding, the files. After `conversations.recover`. */
  recover(userIds: readonly string[]): Promise<void>
  /** After `conversations.close`, before the database closes. */
  close(): Promise<void>
}

/**
 * Everything between the ways in and the database, wired. Owns nothing outside: whoever opened the database and made
 * the models closes them, after `close`.
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
  /** Who uses this home, and what each may use and spend. */
  users: Pick<Users, 'tierOf' | 'isOwner'>
  /** Tools beside the built-in ones. */
  extraTools?: readonly Tool[]
  /** Every call of a tool stands there. */
  audit: Pick<ToolAudit, 'recordIn'>
  /** Knows every secret: none of them is stored, sent to a model or shown (SEC-13). */
  redactor: Redactor
  /** Seals approvals: 32 bytes that lie apart from the database, the same after a restart. */
  approvalKey: () => Uint8Array
  /** Where media lie that other daemons read too; absent where they lie in the home alone. */
  shared?: SharedPlace
  /** The daemons that share the database; absent where there is this one alone. */
  fleet?: Fleet
  /** Absent: nobody looks. */
  telemetry?: Telemetry
  onStep?: OnStep
}): Core {
  const { database, config, clock, ids, random, logger, timeZone, redactor, onStep = () => undefined } = dependencies
  const { telemetry = createSilentTelemetry() } = dependencies
  const origins = createMessageOrigins(telemetry.work)
  const models = redactModels(watchModels(dependencies.models, telemetry), redactor)
  const { tierOf: tierOfUser, isOwner } = dependencies.users
  const modelsOf = (userId: string) => {
    const tier = tierOfUser(userId)
    return modelsOfUser(models, { route: (purpose) => routeOf(tier, purpose), allows: (id) => allowsModel(tier, id) })
  }
  const { fleet } = dependencies
  const wakeupsOf = (name: string) => (fleet ? createSharedWakeups(fleet.notices, name) : createWakeups())
  const log = createSessionLog({ database, clock, wakeups: wakeupsOf('sessions') })
  const sessions = createSessions({ database, clock, ids, maxSessions: (userId) => tierOfUser(userId).maxSessions })
  const openSessions = createOpenSessions({ log, snapshots: createSnapshots({ database }) })
  const sharedDepth = fleet && createSharedDepth({ database, clock, most: () => config().sessions.maxQueued })
  const inbox = origins.watch(
    createInbox({
      database,
      sessions,
      clock,
      ids,
      refuseOverload: createRefuseOverload({
        limits: () => config().sessions,
        depth: sharedDepth ?? {
          here: (sessionId) => conversations.load(sessionId).waitingHere,
          inAll: () => conversations.load().waiting,
        },
      }),
      redact: (payload) => redactJson(redactor, payload),
      isShared: fleet !== undefined,
      ...(fleet && { onAdmitted: (writer, message) => shared?.askFor(writer, message) ?? Promise.resolve() }),
    }),
  )
  const shared =
    fleet &&
    createSharedTurns({
      fleet,
      database,
      inbox: () => inbox,
      debounceMs: () => config().sessions.debounceMs,
      beforeHelper: () => subagents.prepare(),
      logger,
    })
  const ledger = createLedger({
    database,
    clock,
    ids,
    caps: (userId) => capsOf(tierOfUser(userId), capsOfBudget(config().budget)),
  })
  const monitor = createMonitor({ clock, publish: dependencies.publishMonitor })
  const media = createMediaStore({
    database,
    directory: dependencies.mediaDirectory,
    shared: dependencies.shared?.media,
    clock,
    redact: (bytes) => redactBytes(redactor, bytes),
  })
  const askModel = createAskModel({ database, ledger, modelsOf, clock, random })
  const opened = openMemory({
    ...dependencies,
    askModel,
    onSessionsChanged: (sessionIds) => sessionIds.forEach(openSessions.forget),
  })
  const { memory } = opened
  const learnt = { ...memory, database, askModel, clock, logger, timeZone, agentName: () => config().agent.name }
  const learning = createLearning({
    database,
    log,
    models,
    index: createConversationIndex(learnt),
    extraction: createExtraction(learnt),
    consolidation: createConsolidation(learnt),
    consolidateFile: createFileConsolidation(learnt),
    readFiles: (userId) => readWorkspaceFiles(memory.files, userId),
    clock,
    logger,
    isIndexing: () => config().memory.conversations,
    isExtracting: () => config().memory.extraction,
    ...(shared && { isHere: shared.isHere }),
  })
  const recallForTurn = watchRecall(createRecallForTurn({ memory, clock, timeZone }), telemetry)
  const liveHere = createLiveResponses(log.wakeHere)
  const live = fleet ? shareLiveResponses(liveHere, { ...fleet, clock, wake: log.wakeHere }) : liveHere
  const context = createContext({
    workspace: dependencies.workspace,
    tiers: () => config().agent.context.tiers,
    readTextFile: createTextFileCache(clock, 100),
    timeZone,
    starterTexts: starterFiles.map((name) => readBundledText(new URL(`./starter/${name}`, import.meta.url))),
  })
  const tierOf = (source: string) => config().agent.context.sources[source] ?? 'full'
  const startedAt = clock.now()
  const tools = createToolRegistry(
    [
      ...createBuiltinTools({
        ...memory,
        clock,
        timeZone,
        describeStatus: (call) => describeStatus({ database, models: modelsOf(call.userId), clock, startedAt }, call),
        openHistory: (range) => openHistory({ log, sessions }, range),
      }),
      ...(dependencies.extraTools ?? []),
    ],
    () => config().tools.enabled,
    (tool) => watchTool(redactTool(tool, redactor), telemetry),
    (userId, name) => allowsTool(tierOfUser(userId), name),
  )
  const procedural = createProceduralMemory({ database, clock })
  const stopping = new AbortController()
  const subagents = createSubagents({
    database,
    conversations: () => conversations,
    modelsOf,
    tools,
    seenIn: async (sessionId) => (await openSessions.projection(sessionId)).seen,
    limits: () => config().subagents,
    stopping: stopping.signal,
    clock,
    ids,
    logger,
  })
  for (const tool of createSubagentTools({ subagents, clock })) tools.add(tool)
  const clientCalls = createClientCalls({
    database,
    clock,
    timeoutSeconds: () => config().clientTools.timeoutSeconds,
    stopping: stopping.signal,
    prepareTool: (tool) => watchTool(redactTool(tool, redactor), telemetry),
    wakeups: wakeupsOf('client_calls'),
    isShared: fleet !== undefined,
  })
  const roles = createRoles({ tools, context, maxRounds: () => config().agent.maxRounds, subagents, isOwner })
  const { roleOf } = roles
  tools.add(
    createFindTools({
      registry: tools,
      weights: procedural.weights,
      meaning: opened.toolMeaning,
      capabilities: { search: roles.searchCapabilities },
    }),
  )

  const approvals = createApprovals({
    database,
    key: dependencies.approvalKey,
    clock,
    ids,
    minutes: () => config().policy.approvalMinutes,
  })
  const records = createCallRecords({ tools, procedural, audit: dependencies.audit })
  const beginCalls = createBeginCalls({ approvals, destinations: () => declaredDestinations(config()), records })
  const turns = watchTurns(
    createTurns({
      database,
      log,
      openSessions,
      inbox,
      ledger,
      monitor,
      modelsOf,
      roleOf,
      clientCalls,
      context,
      live,
      approvals,
      beginCalls,
      records,
      async recall({ userId, sessionId, text }) {
        if (config().memory.decay === 'cycles') await memory.memories.nextCycle(userId)
        const { entries } = await openSessions.projection(sessionId)
        const turnsInSight = new Set(entries.map((entry) => entry.turnId))
        return await recallForTurn({ userId, text, turnsInSight })
      },
      loadMedia: media.load,
      expand: roles.expand,
      clock,
      ids,
      random,
      logger,
      onStep,
    }),
    telemetry,
    origins,
  )
  const compaction = createCompaction({
    database,
    log,
    openSessions,
    ledger,
    models,
    modelsOf,
    clock,
    random,
    logger,
    settings: () => config().compaction,
    beforeSwap: learning.beforeSwap,
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
    roleOf,
    live,
    approvals,
    answerApproval: createAnswerApproval({ database, approvals, sessions, inbox, tierOf }),
    clock,
    ids,
    logger,
    settings: {
      debounceMs: config().sessions.debounceMs,
      maxConcurrentTurns: config().sessions.maxConcurrentTurns,
      maxConcurrentWork: config().capabilities.maxConcurrentBuilds,
      maxConcurrentSubagents: config().sessions.maxConcurrentTurns,
      maxMessageCharacters: 200_000,
      tierOf,
    },
    learning,
    onTurnEnded(session, end) {
      roles.onTurnEnded(session, end)
      // Also where a stop was written down and the daemon died before those who worked for it were told.
      if (end.outcome === 'stopped') void subagents.stopAll(session.userId, session.id).catch(reportUnstopped)
    },
    subagents,
    clientCalls,
    tools,
    onClosing: () => stopping.abort(),
    onForked: roles.onForked,
    ...(shared && { shared }),
    onStep,
  })

  function reportUnstopped(cause: unknown): void {
    logger.error('sub-agents were not stopped', { error: cause instanceof Error ? cause.message : String(cause) })
  }

  return {
    conversations: {
      ...conversations,
      // Nothing waits in this process where the work is shared.
      ...(sharedDepth && { load: (id?: string) => ({ ...conversations.load(id), waiting: sharedDepth.inAll() }) }),
      async recover() {
        await subagents.prepare()
        return conversations.recover()
      },
    },
    useRoles: roles.use,
    useWorkspace: roles.useWorkspace,
    askModel,
    modelsOf,
    chooseModel: sessions.chooseModel,
    log,
    views: createSessionViews({ database, log }),
    monitor,
    media,
    tools,
    embedder: opened.embedder,
    memory,
    learning,
    followFiles: (userId) => void opened.files.follow(userId),
    takeTurns: async () => shared?.begin(),
    async recover(userIds) {
      await subagents.recover()
      await learning.recover()
      opened.begin(userIds)
    },
    async close() {
      await learning.close()
      await opened.close()
      await monitor.close()
    },
  }
}
