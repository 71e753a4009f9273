import type { ConsolidationOutcome } from '../../../../memory/learning/consolidation.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import {
  type ConsolidatedReply,
  type ConsolidateProgressReply,
  consolidatedReplySchema,
  consolidateRequestSchema,
} from '../../../../protocol/memory-upkeep-api.ts'
import type { Session } from '../../../../sessions/sessions.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpDependencies } from '../../http-dependencies.ts'
import { defineRoute, type Route } from '../../route.ts'
import type { StreamReply } from '../../stream-reply.ts'
import { progressReply } from './progress-reply.ts'

/** Learning from conversations and files, now and not when it comes by itself. */
export function createConsolidateRoutes(dependencies: HttpDependencies, streamReply: StreamReply): Route[] {
  const { conversations, learning } = dependencies

  async function chooseSessions(userId: string, name: string | undefined): Promise<Session[]> {
    if (name === undefined) return conversations.sessions(userId, { includeArchived: true })
    const session = await conversations.findSession(userId, name)
    if (!session) throw new FamiliarError('not_found', `There is no session ${JSON.stringify(name)}`)
    return [session]
  }

  async function consolidate(options: {
    userId: string
    sessions: readonly Session[]
    withFiles: boolean
    signal: AbortSignal
    onProgress(progress: ConsolidateProgressReply): void
  }): Promise<ConsolidatedReply> {
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
    defineRoute({
      method: 'POST',
      path: '/api/v1/memories/consolidate',
      summary:
        'Write facts, episodes, commitments and names from a session, or from all of them and the files; with "Accept: text/event-stream" it tells how far it is.',
      auth: 'token',
      scope: 'owner',
      body: consolidateRequestSchema,
      reply: { status: 200, schema: consolidatedReplySchema, events: true },
      async handle({ context, body }) {
        const { userId } = callerOf(context)
        const sessions = await chooseSessions(userId, body.session)
        const withFiles = body.session === undefined
        return progressReply<ConsolidateProgressReply, ConsolidatedReply>(context, streamReply, (job) =>
          consolidate({ ...job, userId, sessions, withFiles }),
        )
      },
    }),
  ]
}

function nothingYet(): ConsolidatedReply {
  return { sessions: 0, files: 0, added: { episodes: 0, facts: 0, commitments: 0, aliases: 0 }, problems: [] }
}

function take(reply: ConsolidatedReply, sessionId: string | null, outcome: ConsolidationOutcome): void {
  const { episodes, facts, commitments, aliases } = outcome.added
  reply.added.episodes += episodes
  reply.added.facts += facts
  reply.added.commitments += commitments
  reply.added.aliases += aliases
  if (!outcome.ok) reply.problems.push({ session_id: sessionId, reason: outcome.reason, message: outcome.message })
}
