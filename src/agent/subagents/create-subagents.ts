import type { Clock } from '../../base/clock.ts'
import type { Ids } from '../../base/ids.ts'
import type { Logger } from '../../base/logger.ts'
import type { Models } from '../../models/models.ts'
import type { Seen } from '../../policy/gate.ts'
import type { Session } from '../../sessions/sessions.ts'
import { subagentChannel } from '../../sessions/work-channels.ts'
import type { Database } from '../../storage/database.ts'
import type { SpawnRow } from '../../storage/workspace-tables.ts'
import type { ToolRegistry } from '../../tools/registry.ts'
import type { Spawn, SpawnResult, Subagents } from '../../tools/subagents/subagents.ts'
import { CallSuspended } from '../../tools/tool.ts'
import type { Conversations, TurnEnd } from '../conversations.ts'
import type { Role } from '../role.ts'
import { checkSpawnRequest } from './check-spawn-request.ts'
import { createSpawnStore } from './spawn-store.ts'
import { restingRole, subagentRole } from './subagent-role.ts'
import { watchSubagent } from './watch-subagent.ts'

/** What the conversations, whose sessions sub-agents are, need of them in turn. */
export interface SubagentWork extends Subagents {
  roleOf(session: Session): Role
  /** Stops all that work for the conversation, those that have not begun too. How many those were. */
  stopAll(userId: string, sessionId: string): Promise<number>
  /** Reads who is at work. Before the conversations recover, whose turns may be theirs. */
  prepare(): Promise<void>
  /** Takes up what an earlier run left. After the conversations recovered. */
  recover(): Promise<void>
}

/** A spawn whose session runs in this process. */
interface Followed {
  sessionId: Promise<string>
  ended: Promise<Spawn>
}

export function createSubagents(dependencies: {
  database: Database
  /** Looked up at every use: they are made after this. */
  conversations: () => Pick<Conversations, 'submit' | 'waitForTurn' | 'stop' | 'events'>
  /** As the user has them (CLIENT-4). */
  modelsOf: (userId: string) => Models
  tools: ToolRegistry
  /** What has been in sight of a session. */
  seenIn(sessionId: string): Promise<Seen>
  limits: () => { maxRounds: number; maxAtOnce: number }
  /** Aborts when the daemon begins to stop. */
  stopping: AbortSignal
  clock: Clock
  ids: Ids
  logger: Logger
}): SubagentWork {
  const { conversations, modelsOf, tools, limits, stopping, logger } = dependencies
  const store = createSpawnStore(dependencies)
  /** Those that may work. Not in here, a session has the role of one that rests. */
  const atWork = new Map<string, Spawn>()
  const followed = new Map<string, Followed>()

  function follow(spawn: Spawn): Followed {
    const known = followed.get(spawn.id)
    if (known) return known
    const receipt = begin(spawn)
    const ended = receipt.then(async ({ messageId, sessionId }) => {
      const end = await conversations().waitForTurn(messageId)
      return finish(spawn, resultOf(end, spawn, await dependencies.seenIn(sessionId)))
    })
    const entry = {
      sessionId: receipt.then(({ sessionId }) => sessionId),
      ended: ended.catch((cause) => lost(spawn, cause)),
    }
    followed.set(spawn.id, entry)
    entry.sessionId.catch(() => undefined)
    entry.ended.catch(() => undefined)
    return entry
  }

  /** The same spawn again is the same message: nothing in it may depend on when it is sent. */
  function begin({ id, userId, request }: Spawn) {
    return conversations().submit({
      userId,
      channel: subagentChannel,
      contact: id,
      sender: 'familiar',
      source: subagentChannel,
      tier: 'full',
      text: request.task,
      media: [],
      key: `spawn:${id}`,
      immediate: true,
      metadata: {},
      label: 'internal',
    })
  }

  async function finish(spawn: Spawn, result: SpawnResult): Promise<Spawn> {
    const ended = await store.end(spawn.id, stateAfter(result), result)
    atWork.delete(spawn.id)
    followed.delete(spawn.id)
    return ended
  }

  /** Its end is not known here. Where the daemon stops it goes on at the next start; otherwise it never began. */
  async function lost(spawn: Spawn, cause: unknown): Promise<Spawn> {
    followed.delete(spawn.id)
    if (stopping.aborted) throw new CallSuspended()
    const text = cause instanceof Error ? cause.message : String(cause)
    logger.error('a sub-agent could not be followed', { spawn: spawn.id, error: text })
    return finish(spawn, { outcome: 'failed', text, seen: spawn.request.seen })
  }

  return {
    async spawn({ request, ...call }) {
      const checked = checkSpawnRequest({ request, models: modelsOf(call.userId), tools: tools.viewOf(call.userId) })
      const spawn = await store.begin({ ...call, request: checked, maxAtOnce: limits().maxAtOnce })
      if (spawn.state === 'running') atWork.set(spawn.id, spawn)
      if (!spawn.result) follow(spawn)
      return spawn
    },
    async ended(spawn, { signal, progress }) {
      signal.throwIfAborted()
      const known = await store.find(spawn.id)
      if (known.result) return known
      const { sessionId, ended } = follow(known)
      const over = new AbortController()
      const either = AbortSignal.any([over.signal, signal])
      const watched = sessionId.then((id) =>
        watchSubagent({ conversations: conversations(), spawn: known, sessionId: id, signal: either, progress }),
      )
      watched.catch((cause) => logger.debug('a sub-agent could not be watched', { error: String(cause) }))
      try {
        return await Promise.race([ended, suspension(stopping, over.signal), rejection(signal, over.signal)])
      } finally {
        over.abort()
      }
    },
    list: store.list,
    roleOf(session) {
      const spawn = atWork.get(session.contact)
      if (spawn?.userId !== session.userId) return restingRole
      return subagentRole({ spawn, parentTools: tools.viewOf(spawn.userId), maxRounds: limits().maxRounds })
    },
    async stopAll(userId, sessionId) {
      const stopped = await store.stopAll(userId, sessionId)
      for (const { id, sessionId: own } of stopped) {
        // From here on it has no tools and no rounds, also where its turn has not begun.
        atWork.delete(id)
        if (own !== null) await conversations().stop(userId, own)
      }
      return stopped.length
    },
    async prepare() {
      for (const spawn of await store.open()) if (spawn.state === 'running') atWork.set(spawn.id, spawn)
    },
    async recover() {
      for (const spawn of await store.open()) follow(spawn)
    },
  }
}

function resultOf({ outcome, text }: TurnEnd, { request }: Spawn, seen: Seen): SpawnResult {
  const { untrusted, private: isPrivate } = request.seen
  return { outcome, text, seen: { untrusted: seen.untrusted || untrusted, private: seen.private || isPrivate } }
}

function stateAfter({ outcome }: SpawnResult): SpawnRow['state'] {
  if (outcome === 'stopped') return 'stopped'
  return outcome === 'completed' || outcome === 'question' ? 'done' : 'failed'
}

function suspension(stopping: AbortSignal, over: AbortSignal): Promise<never> {
  return onAbort(stopping, over, () => new CallSuspended())
}

function rejection(signal: AbortSignal, over: AbortSignal): Promise<never> {
  return onAbort(signal, over, () => signal.reason)
}

/** Rejects when the signal aborts; stops listening with `over`. */
function onAbort(signal: AbortSignal, over: AbortSignal, reason: () => unknown): Promise<never> {
  const waiting = new Promise<never>((_resolve, reject) => {
    if (signal.aborted) reject(reason())
    else signal.addEventListener('abort', () => reject(reason()), { once: true, signal: over })
  })
  waiting.catch(() => undefined)
  return waiting
}
