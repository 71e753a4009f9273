import { z } from 'zod'
import { createAnswerApproval } from '../agent/admission.ts'
import { createAskModel } from '../agent/call-model.ts'
import { createClientCalls } from '../agent/client-calls.ts'
import { createCompaction } from '../agent/compaction.ts'
import { createContext, createRecallForTurn } from '../agent/context.ts'
import { type Conversations, createConversations } from '../agent/conversations.ts'
import { type Coordination, createSoleDaemon } from '../agent/coordination.ts'
import { reportCost } from '../agent/costs.ts'
import { createLiveResponses } from '../agent/event-stream.ts'
import { createFleetCoordination } from '../agent/fleet-coordination.ts'
import { createLearning } from '../agent/learning.ts'
import { createLedger, limitsOfBudget, limitsOfPlan } from '../agent/ledger.ts'
import type { OnStep } from '../agent/next-step.ts'
import { createPermissions } from '../agent/permissions.ts'
import { createDrawPictures } from '../agent/pictures.ts'
import { createRoles } from '../agent/roles.ts'
import { createMessageOrigins, watchRecall, watchTurns } from '../agent/runner.ts'
import { createFolders, purgeDeleted } from '../agent/sessions/folders.ts'
import { createInbox, createRefuseOverload } from '../agent/sessions/inbox.ts'
import { createMessageIndex } from '../agent/sessions/message-index.ts'
import { createOpenSessions, createSessionViews, createSnapshots } from '../agent/sessions/open-sessions.ts'
import { textOf } from '../agent/sessions/projection.ts'
import type { LoggedEvent } from '../agent/sessions/session-event.ts'
import { createSessionLog, type SessionLog } from '../agent/sessions/session-log.ts'
import { createSessions, type Sessions } from '../agent/sessions/sessions.ts'
import { createSubagents } from '../agent/subagents.ts'
import { createTitles } from '../agent/titles.ts'
import { createBeginCalls, createCallRecords, createRedirectRule } from '../agent/tool-calls.ts'
import { createTurns } from '../agent/turn.ts'
import type { Clock } from '../base/clock.ts'
import { createTextFileCache, readBundledText } from '../base/files.ts'
import { parseJson } from '../base/json.ts'
import { createMonitor, type MonitorState } from '../base/telemetry/monitor.ts'
import { createSilentTelemetry, type Telemetry } from '../base/telemetry/telemetry.ts'
import { reasonOf } from '../base/text.ts'
import { createFindTools } from '../custom-tools/find-tools.ts'
import { createFittingTools } from '../custom-tools/fitting-tools.ts'
import type { Fleet } from '../fleet/join-fleet.ts'
import type { SharedPlace } from '../fleet/shared-files.ts'
import { createProceduralMemory } from '../memory/episodes.ts'
import { readWorkspaceFiles } from '../memory/files/index-files.ts'
import { createConsolidation, createFileConsolidation } from '../memory/learning/consolidation.ts'
import { createExtraction } from '../memory/learning/extraction.ts'
import { removeGateQuestions } from '../memory/learning/gate-questions.ts'
import { createConversationIndex } from '../memory/learning/index-conversation.ts'
import type { ImageModel } from '../models/images.ts'
import type { Models } from '../models/model.ts'
import { modelsOfUser, redactModels, watchModels } from '../models/watch-models.ts'
import { createApprovals } from '../security/approvals.ts'
import { createGrants } from '../security/permissions.ts'
import { redactBytes, redactJson } from '../security/redactor.ts'
import { allowsModel, allowsTool, routeOf, type Users } from '../security/users.ts'
import type { Database } from '../storage/database.ts'
import { createMediaStore } from '../storage/media-store.ts'
import { createBuiltinTools } from '../tools/builtin/builtin-tools.ts'
import type { HistoryEntry, OpenHistory } from '../tools/builtin/memory-query.ts'
import type { MessageUser } from '../tools/builtin/message.ts'
import { createSubagentTools } from '../tools/builtin/subagent-tools.ts'
import { readClientLocale } from '../tools/client-context.ts'
import { createToolRegistry, type ToolAudit } from '../tools/registry.ts'
import { CallSuspended, redactTool, type Tool, watchTool } from '../tools/tool.ts'
import type { Essentials } from './daemon.ts'
import { starterFiles } from './home.ts'
import { openMemory } from './memory.ts'
import { policyOf } from './open-sandbox.ts'

export type Core = ReturnType<typeof createCore>

/**
 * Wires everything between the channels and the database. It owns neither the database nor the models: the caller
 * closes them after `close`.
 */
export function createCore(
  dependencies: Essentials & {
    models: Models
    /** The models that make pictures; absent: none. */
    images?: () => readonly ImageModel[]
    publishMonitor(state: MonitorState): Promise<void>
    random: () => number
    /** The users of this home, with their plans. */
    users: Pick<Users, 'planOf' | 'isOwner' | 'list'>
    /** Tools beside the built-in ones. */
    extraTools?: readonly Tool[] | undefined
    /** How the `message` tool reaches the user. Absent: by the conversation alone. */
    messageUser?: MessageUser
    /** The audit trail of every tool call. */
    audit: Pick<ToolAudit, 'recordIn'>
    /** Seals approvals: 32 bytes that lie apart from the database, the same after a restart. */
    approvalKey: () => Uint8Array
    /** The place of media that other daemons read too; absent if media are only in the home. */
    shared?: SharedPlace | undefined
    /** The daemons that share the database; absent for a single daemon. */
    fleet?: Fleet | undefined
    /** Absent: no telemetry. */
    telemetry?: Telemetry
    onStep?: OnStep | undefined
  },
) {
  const { database, config, atStart, paths, clock, ids, random, logger, timeZone, redactor, fleet } = dependencies
  const { telemetry = createSilentTelemetry(), onStep = () => undefined } = dependencies
  const base = { database, clock, ids, logger, timeZone }
  const origins = createMessageOrigins(telemetry.work)
  const models = redactModels(watchModels(dependencies.models, telemetry), redactor)
  const { planOf, isOwner } = dependencies.users
  const userIds = () => dependencies.users.list().map(({ id }) => id)
  const modelsOf = (userId: string) => {
    const plan = planOf(userId)
    return modelsOfUser(models, { route: (purpose) => routeOf(plan, purpose), allows: (id) => allowsModel(plan, id) })
  }
  const coordination: Coordination = fleet
    ? createFleetCoordination({
        ...base,
        fleet,
        inbox: () => inbox,
        debounceMs: () => config().sessions.debounceMs,
        maxQueued: () => config().sessions.maxQueued,
        beforeHelper: () => subagents.prepare(),
      })
    : createSoleDaemon()
  const log = createSessionLog({ ...base, wakeups: coordination.createWakeups('sessions') })
  const sessions = createSessions({ ...base, maxSessions: (userId) => planOf(userId).maxSessions })
  const { stateIn } = coordination
  const openSessions = createOpenSessions({ log, snapshots: createSnapshots({ database }), stateIn })
  const messages = createMessageIndex({ ...base, log, isHere: coordination.isHere })
  const folders = createFolders(base)
  const inbox = origins.watch(
    createInbox({
      ...base,
      sessions,
      refuseOverload: createRefuseOverload({ limits: () => config().sessions, depth: coordination.depth }),
      redact: (payload) => redactJson(redactor, payload),
      coordination,
    }),
  )
  const ledger = createLedger({
    ...base,
    limits: (userId) => limitsOfPlan(planOf(userId), limitsOfBudget(config().budget)),
  })
  const monitor = createMonitor({ clock, publish: dependencies.publishMonitor })
  const media = createMediaStore({
    ...base,
    directory: paths.media,
    shared: dependencies.shared?.media,
    redact: (bytes) => redactBytes(redactor, bytes),
  })
  const askModel = createAskModel({ ...base, ledger, modelsOf, random })
  const opened = openMemory({
    ...dependencies,
    askModel,
    userIds,
    async onSessionsChanged(sessionIds) {
      sessionIds.forEach(openSessions.forget)
      await messages.renew(sessionIds)
    },
  })
  const { memory } = opened
  const { images = () => [] } = dependencies
  const learnt = { ...memory, ...base, askModel, agentName: () => config().agent.name }
  const learning = createLearning({
    ...base,
    log,
    models,
    index: createConversationIndex(learnt),
    extraction: createExtraction(learnt),
    consolidation: createConsolidation(learnt),
    consolidateFile: createFileConsolidation(learnt),
    readFiles: (userId) => readWorkspaceFiles(memory.files, userId),
    isIndexing: () => config().memory.conversations,
    isExtracting: () => config().memory.extraction,
    isHere: coordination.isHere,
  })
  const recallForTurn = watchRecall(createRecallForTurn({ memory, clock, timeZone }), telemetry)
  const live = coordination.shareLive(createLiveResponses(log.wakeHere), { clock, wake: log.wakeHere })
  const context = createContext({
    workspace: paths.workspace,
    profiles: () => config().agent.context.profiles,
    readTextFile: createTextFileCache(clock, 100),
    timeZone,
    starterTexts: starterFiles.map((name) => readBundledText(new URL(`./starter/${name}`, import.meta.url))),
  })
  const profileOf = (source: string) => config().agent.context.sources[source] ?? 'full'
  const prepareTool = (tool: Tool) => watchTool(redactTool(tool, redactor), telemetry)
  const startedAt = clock.now()
  const tools = createToolRegistry(
    [
      ...createBuiltinTools({
        ...memory,
        ...base,
        describeStatus: (call) => describeStatus({ database, models: modelsOf(call.userId), clock, startedAt }, call),
        openHistory: (range) => openHistory({ log, sessions }, range),
        messageUser: dependencies.messageUser,
      }),
      ...(dependencies.extraTools ?? []),
    ],
    () => config().tools.enabled,
    prepareTool,
    (userId, name) => allowsTool(planOf(userId), name),
    (name) => config().tools.disabled.includes(name),
  )
  const procedural = createProceduralMemory({ database, clock })
  const stopping = new AbortController()
  const grants = createGrants({ ...base, key: dependencies.approvalKey })
  const approvals = createApprovals({
    ...base,
    grants,
    key: dependencies.approvalKey,
    minutes: () => config().policy.approvalMinutes,
  })
  const subagents = createSubagents({
    ...base,
    approvals,
    onChange: log.onChange,
    conversations: () => conversations,
    modelsOf,
    tools,
    seenIn: async (sessionId) => (await openSessions.projection(sessionId)).seen,
    limits: () => config().subagents,
    stopping: stopping.signal,
  })
  for (const tool of createSubagentTools({ subagents, clock })) tools.add(tool)
  const clientCalls = createClientCalls({
    ...base,
    timeoutSeconds: () => config().clientTools.timeoutSeconds,
    stopping: stopping.signal,
    prepareTool,
    wakeups: coordination.createWakeups('client_calls'),
    stateIn,
  })
  const roles = createRoles({ tools, context, maxRounds: () => config().agent.maxRounds, subagents, isOwner })
  const { roleOf } = roles
  const views = createSessionViews({ database, log })
  const isOn = () => config().routes.fast !== undefined
  const titles = createTitles({ views, log, askModel, isOn, logger })
  tools.add(
    createFindTools({
      registry: tools,
      weights: procedural.weights,
      meaning: opened.toolMeaning,
      capabilities: { search: roles.searchCapabilities },
    }),
  )

  const permissions = createPermissions({
    ...base,
    grants,
    sessions,
    tools,
    policy: () => policyOf(config()),
    planMode: (userId) => planOf(userId).mode,
    now: clock.now,
  })
  const answers = createAnswerApproval({ database, approvals, sessions, inbox, profileOf })
  const records = createCallRecords({ tools, procedural, audit: dependencies.audit })
  const destinations = () => policyOf(config()).destinations
  const beginCalls = createBeginCalls({
    approvals,
    grants,
    destinations,
    records,
    localeIn: (reader, userId) => readClientLocale(reader, userId, clock.now()),
  })
  const parts = {
    ...base,
    log,
    openSessions,
    inbox,
    ledger,
    modelsOf,
    roleOf,
    context,
    live,
    approvals,
    random,
    onStep,
  }
  const compaction = createCompaction({
    ...parts,
    settings: () => config().compaction,
    beforeSwap: learning.beforeSwap,
  })
  const turns = watchTurns(
    createTurns({
      ...parts,
      monitor,
      clientCalls,
      beginCalls,
      modeOf: permissions.modeIn,
      mayFollow: createRedirectRule({ database, grants, destinations }),
      openApprovals: subagents.openApprovals,
      giveAnswers: answers.spoken,
      onAdmitted: (message) => conversations.enqueue(message),
      records,
      compact: compaction.compact,
      async recall({ userId, sessionId, text }) {
        if (config().memory.decay === 'cycles') await memory.memories.nextCycle(userId)
        const { entries } = await openSessions.projection(sessionId)
        const turnsInSight = new Set(entries.map((entry) => entry.turnId))
        return await recallForTurn({ userId, text, turnsInSight })
      },
      fittingTools: createFittingTools({
        registry: tools,
        weights: procedural.weights,
        meaning: opened.toolMeaning,
        embedder: opened.embedder,
        capabilities: { search: roles.searchCapabilities },
        logger,
      }),
      loadMedia: media.load,
      expand: roles.expand,
      readAttachments: roles.readAttachments,
      maxAttachmentTokens: () => config().assets.attachmentTokens,
    }),
    telemetry,
    origins,
  )
  const conversations: Conversations = createConversations({
    ...parts,
    coordination,
    sessions,
    turns,
    compaction,
    answerApproval: answers.elsewhere,
    settings: {
      debounceMs: () => config().sessions.debounceMs,
      maxConcurrentTurns: atStart.sessions.maxConcurrentTurns,
      maxConcurrentWork: atStart.capabilities.maxConcurrentBuilds,
      maxConcurrentSubagents: atStart.sessions.maxConcurrentTurns,
      maxMessageCharacters: 200_000,
      profileOf,
    },
    learning,
    onTurnEnded(session, end) {
      roles.onTurnEnded(session, end)
      titles.afterTurn(session, end)
      // Also after a crash between recording a stop and stopping the sub-agents.
      if (end.outcome !== 'stopped') return
      subagents
        .stopAll(session.userId, session.id)
        .catch((cause) => logger.error('could not stop the sub-agents', { error: reasonOf(cause) }))
    },
    subagents,
    clientCalls,
    tools,
    onClosing: () => stopping.abort(new CallSuspended()),
    onForked: roles.onForked,
  })

  let cleaning: Promise<void> | undefined
  async function cleanMemory(): Promise<void> {
    for (const userId of userIds()) {
      await removeGateQuestions({ database, memories: memory.memories, now: clock.now }, userId)
    }
  }

  let cancelPurge = () => {}
  let purging: Promise<unknown> = Promise.resolve()
  function purgeDaily(): void {
    purging = purgeDeleted(database, clock.now()).catch((error: unknown) =>
      logger.error('could not remove deleted conversations', { error: reasonOf(error) }),
    )
    cancelPurge = clock.after(dayMs, purgeDaily)
  }

  return {
    conversations: {
      ...conversations,
      async recover() {
        await subagents.prepare()
        return conversations.recover()
      },
    },
    /** Adds roles, and their news for the main agent. Call both before anything is recovered. */
    useRoles: roles.use,
    useWorkspace: roles.useWorkspace,
    grants,
    /** Single questions to the fast model. */
    askModel,
    images,
    drawPictures: createDrawPictures({ database, ledger, images, redact: redactor.redact }),
    modelsOf,
    chooseModel: sessions.chooseModel,
    permissions,
    log,
    views,
    messages,
    folders,
    titles,
    monitor,
    media,
    tools,
    /** Redaction and telemetry, for tools outside the registry. */
    prepareTool,
    /** Undefined if nothing is embedded. */
    embedder: opened.embedder,
    memory,
    learning,
    /** Watches the folders that the user has indexed. Returns at once. */
    followFiles: (userId: string) => void opened.files.follow(userId),
    /** Starts to take turns from a queue that several daemons share. */
    takeTurns: coordination.start,
    /** Resumes the background work of an earlier run: sub-agents, learning, embedding, files. */
    async lead() {
      await subagents.recover()
      await learning.recover()
      cleaning = cleanMemory().catch((error: unknown) =>
        logger.error('could not remove old approval questions from memory', { error }),
      )
      opened.lead()
      messages.recover()
      purgeDaily()
    },
    /** After `conversations.close`. */
    async stop() {
      cancelPurge()
      await Promise.all([cleaning, purging])
      await messages.close()
      await titles.close()
      await learning.close()
      await opened.stop()
      await monitor.close()
    },
  }
}

const dayMs = 24 * 60 * 60_000

/** A short status report of the agent about itself. */
async function describeStatus(
  { database, models, clock, startedAt }: { database: Database; models: Models; clock: Clock; startedAt: number },
  call: { userId: string; sessionId: string },
): Promise<string> {
  const cost = await reportCost(database, { userId: call.userId, period: 'today', now: clock.now() })
  const session = await database.read
    .selectFrom('sessions')
    .select(['contact', 'last_seq', 'last_input_tokens'])
    .where('id', '=', call.sessionId)
    .where('user_id', '=', call.userId)
    .executeTakeFirst()
  // The newest answer here is the one that made this call: with a fallback or a choice, not the first of the route.
  const answered = await database.read
    .selectFrom('session_events')
    .select('data')
    .where('session_id', '=', call.sessionId)
    .where('type', '=', 'model_responded')
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst()
  const model = answered && parseJson(answered.data, z.object({ model: z.string() }))
  const unpriced = cost.unpricedCalls > 0 ? `, plus ${cost.unpricedCalls} calls of models without a price` : ''
  const estimated = cost.estimatedCalls > 0 ? `; ${cost.estimatedCalls} of them estimated` : ''
  return [
    `Model: ${model?.ok ? model.value.model : (models.route('primary')[0]?.info.id ?? 'none')}`,
    `Up for: ${formatDuration(clock.now() - startedAt)}`,
    `Cost today: $${cost.totalUsd.toFixed(4)} in ${cost.calls} calls${unpriced}${estimated}`,
    `Session: ${session?.contact ?? call.sessionId}, ${session?.last_seq ?? 0} events, ${session?.last_input_tokens ?? 0} tokens in the last request`,
  ].join('\n')
}

function formatDuration(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000)
  if (minutes < 1) return `${Math.floor(milliseconds / 1_000)} seconds`
  if (minutes < 120) return `${minutes} minutes`
  return `${Math.floor(minutes / 60)} hours`
}

/** Pages back into the log, past every compaction. Reads events in steps from the end, never the whole log. */
async function openHistory(
  { log, sessions }: { log: SessionLog; sessions: Sessions },
  range: Parameters<OpenHistory>[0],
): Promise<HistoryEntry[]> {
  const session = await sessions.get(range.userId, range.sessionId)
  if (!session) return []
  const step = Math.max(100, range.limit * 4)
  let end = range.before ?? session.lastSeq + 1
  let entries: HistoryEntry[] = []
  while (entries.length < range.limit && end > 1) {
    const after = Math.max(0, end - 1 - step)
    const { events } = await log.read(session.id, { after, limit: end - 1 - after })
    entries = [...events.flatMap(entryOf), ...entries]
    end = after + 1
  }
  return entries.slice(-range.limit)
}

function entryOf(event: LoggedEvent): HistoryEntry[] {
  const { seq, at } = event
  switch (event.type) {
    case 'message_received':
      return [{ seq, at, role: 'user', text: event.text }]
    case 'model_responded': {
      const text = textOf(event.parts)
      return text ? [{ seq, at, role: 'assistant', text }] : []
    }
    case 'tool_finished':
      return [{ seq, at, role: 'tool', text: `${event.name}: ${event.text}` }]
    default:
      return []
  }
}
