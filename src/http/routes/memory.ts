import type { z } from 'zod'
import type { Session } from '../../agent/sessions/sessions.ts'
import { endOfDay } from '../../base/clock.ts'
import { type Fact, factBeginning } from '../../memory/facts.ts'
import type { ConsolidationOutcome } from '../../memory/learning/consolidation.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import * as api from '../../protocol/memory.ts'
import { requireSession, type StreamReply } from '../chat-replies.ts'
import type { HttpDependencies } from '../dependencies.ts'
import { orNotFound, quotedName } from '../replies.ts'
import { handle, type Route } from '../route.ts'
import {
  changeReply,
  createGraphRoutes,
  createOneMemoryRoutes,
  createSearchRoutes,
  filterOf,
  kindsOf,
  located,
  locatedOne,
  timeOf,
} from './memory-search.ts'
import { createFileRoutes, createTransferRoutes, progressReply } from './memory-transfer.ts'

/**
 * The operations on memory, each on the caller's own: memories of other users do not exist for them. Reading needs
 * `read`, changing needs `owner`; a caller with `chat` changes memories only by talking.
 */
export function createMemoryRoutes(dependencies: HttpDependencies, streamReply: StreamReply): Route[] {
  return [
    ...createNoteRoutes(dependencies),
    ...createSearchRoutes(dependencies, streamReply),
    ...createChangeRoutes(dependencies),
    ...createFactRoutes(dependencies),
    ...createCommitmentRoutes(dependencies),
    ...createAliasRoutes(dependencies),
    ...createGraphRoutes(dependencies),
    ...createFileRoutes(dependencies, streamReply),
    ...createConsolidateRoutes(dependencies, streamReply),
    ...createTransferRoutes(dependencies, streamReply),
    ...createStatsRoutes(dependencies),
    // Last: the paths above are not ids.
    ...createOneMemoryRoutes(dependencies),
  ]
}

/** Other names of people and things. */
function createAliasRoutes({ memory: { aliases } }: HttpDependencies): Route[] {
  return [
    handle(api.aliases.list, async ({ userId }) => ({ aliases: await aliases.list(userId) })),
    handle(api.aliases.add, async ({ userId, body }) => {
      return { ...body, isNew: await aliases.add(userId, body.alias, body.entity) }
    }),
    handle(api.aliases.remove, async ({ userId, query }) => {
      const { alias, entity } = query
      if (!(await aliases.remove(userId, alias, entity))) {
        throw new FamiliarError('not_found', `${alias} is not known as a name of ${entity}`)
      }
      return { removed: true as const }
    }),
  ]
}

/** Changes, undo, and permanent forgetting. */
function createChangeRoutes({ memory: { corrections } }: HttpDependencies): Route[] {
  return [
    handle(api.memories.changes, async ({ userId, query }) => {
      const changes = await corrections.changes(userId, query.limit)
      return { changes: changes.map(changeReply) }
    }),
    handle(api.memories.undo, async ({ userId, body }) => {
      const change = orNotFound(await corrections.undo(userId, body.change), notUndone(body.change))
      return { change: changeReply(change) }
    }),
    // It continues when the caller has disconnected: half forgotten would be worse.
    handle(api.memories.forgetEverything, ({ userId, body }) => corrections.forgetEverything(userId, body.about)),
  ]
}

function notUndone(change: string | undefined): string {
  if (change === undefined) return 'There is nothing to undo'
  return `There is no change ${JSON.stringify(change)} that can be undone, or the memory was changed or forgotten since: undo that first`
}

/** Promises. */
function createCommitmentRoutes({ memory: { commitments }, timeZone }: HttpDependencies): Route[] {
  return [
    handle(api.commitments.list, async ({ userId, query: { state, ...rest } }) => ({
      commitments: await commitments.list({ ...rest, userId, states: state && [state] }),
    })),
    handle(api.commitments.add, ({ userId, body }) =>
      commitments.add({ ...body, userId, deadline: dueAt(body.deadline, timeZone) ?? undefined, source: 'user' }),
    ),
    handle(api.commitments.edit, async ({ userId, params: { id }, body }) => {
      const change = { ...body, deadline: dueAt(body.deadline, timeZone) }
      return orNotFound(await commitments.update(userId, id, change), `There is no commitment ${quotedName(id)}`)
    }),
  ]
}

/** The end of a day, or the given time. */
function dueAt<None extends null | undefined>(deadline: string | None, timeZone: string): number | None {
  return typeof deadline === 'string' ? timeOf(deadline, (day) => endOfDay(day, timeZone)) : deadline
}

/** Learning from conversations and files at once, not in the background. */
function createConsolidateRoutes(dependencies: HttpDependencies, streamReply: StreamReply): Route[] {
  const { conversations, learning } = dependencies

  async function chooseSessions(userId: string, name: string | undefined): Promise<Session[]> {
    if (name === undefined) return conversations.sessions(userId, { includeArchived: true })
    return [await requireSession(conversations, userId, name)]
  }

  async function consolidate(options: {
    userId: string
    sessions: readonly Session[]
    withFiles: boolean
    signal: AbortSignal
    onProgress(progress: object): void
  }): Promise<Consolidated> {
    const { userId, sessions, withFiles, signal, onProgress } = options
    const reply = nothingYet()
    const total = sessions.length + (withFiles ? 1 : 0)
    for (const [done, session] of sessions.entries()) {
      onProgress({ done, total, session: session.contact })
      const outcome = await learning.consolidate(session, signal)
      take(reply, session.id, outcome)
      if (outcome.ok) reply.sessions += 1
      else if (outcome.reason !== 'failed') return reply
    }
    if (!withFiles) return reply
    onProgress({ done: sessions.length, total, session: null })
    for (const outcome of await learning.consolidateFiles(userId, signal)) {
      take(reply, null, outcome)
      if (outcome.ok) reply.files += 1
    }
    return reply
  }

  return [
    handle(api.memories.consolidate, async ({ userId, body, context }) => {
      const sessions = await chooseSessions(userId, body.session)
      const withFiles = body.session === undefined
      return progressReply(
        context,
        streamReply,
        (job) => consolidate({ ...job, userId, sessions, withFiles }),
        api.memories.consolidate,
      )
    }),
  ]
}

type Consolidated = z.infer<typeof api.consolidatedReplySchema>

function nothingYet(): Consolidated {
  return { sessions: 0, files: 0, added: { episodes: 0, facts: 0, commitments: 0, aliases: 0 }, problems: [] }
}

function take(reply: Consolidated, sessionId: string | null, outcome: ConsolidationOutcome): void {
  for (const kind of ['episodes', 'facts', 'commitments', 'aliases'] as const) reply.added[kind] += outcome.added[kind]
  if (!outcome.ok) reply.problems.push({ sessionId, reason: outcome.reason, message: outcome.message })
}

/** Facts. */
function createFactRoutes({ memory: { facts, corrections } }: HttpDependencies): Route[] {
  return [
    handle(api.facts.list, async ({ userId, query }) => {
      const { entity, attribute, value, limit } = query
      const question = { userId, entity, attribute, value }
      return {
        facts: await facts.find({ ...question, limit, history: query.history === 'true' }),
        entities: query.count === 'true' ? await facts.count(question) : undefined,
      }
    }),
    handle(api.facts.state, async ({ userId, body }) => {
      const { written, changeId } = await corrections.stateFact({ ...body, userId })
      if (written.outcome === 'refused') throw knownSurer(written.known)
      return { ...written, old: written.outcome === 'replaced' ? written.old : null, changeId }
    }),
    handle(api.facts.declare, async ({ userId, body }) => {
      await facts.declareMultiValued(userId, body.attribute)
      return body
    }),
  ]
}

function knownSurer(fact: Fact): FamiliarError {
  return new FamiliarError(
    'conflict',
    `A more certain fact is known: ${factBeginning(fact)}${fact.value}. Use a confidence of at least ${fact.confidence} to replace it.`,
  )
}

/** The list of memories, and new notes. */
function createNoteRoutes(dependencies: HttpDependencies): Route[] {
  const { memories } = dependencies.memory
  return [
    handle(api.memories.list, async ({ userId, query }) => {
      const { limit, cursor } = query
      const page = await memories.list(userId, {
        // One more than is shown, to know whether there is another page.
        limit: limit + 1,
        kinds: kindsOf(query),
        filter: filterOf(query, dependencies.timeZone),
        before: cursor === undefined ? undefined : parseCursor(cursor),
      })
      const shown = page.slice(0, limit)
      const last = shown.at(-1)
      return {
        memories: await located(dependencies, userId, shown),
        nextCursor: last && page.length > limit ? `${last.createdAt}:${last.id}` : null,
      }
    }),
    handle(api.memories.add, async ({ userId, body }) => {
      const { memory, isNew } = await memories.add({ ...body, userId, kind: 'note', source: 'user' })
      return { memory: await locatedOne(dependencies, memory), isNew }
    }),
  ]
}

function parseCursor(cursor: string): { createdAt: number; id: string } {
  const [, createdAt, id] = /^(-?\d{1,16}):(.{1,200})$/.exec(cursor) ?? []
  if (createdAt === undefined || id === undefined) {
    throw new FamiliarError('bad_request', 'cursor: must be the next_cursor of a page before')
  }
  return { createdAt: Number(createdAt), id }
}

function createStatsRoutes(dependencies: HttpDependencies): Route[] {
  const { memory, learning, countMemories, databaseBytes } = dependencies
  return [
    handle(api.memories.stats, async ({ userId }) => {
      const counts = await countMemories(userId)
      const roots = await memory.files.roots(userId)
      const { waiting, extraction = null, consolidation = null } = await learning.status(userId)
      return {
        ...counts,
        files: { roots: roots.length, files: counts.files.count, bytes: counts.files.bytes },
        embedding: (await memory.embeddingStatus(userId)) ?? null,
        learning: { waiting, extraction, consolidation },
        databaseBytes: await databaseBytes(),
      }
    }),
  ]
}
