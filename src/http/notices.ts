import type { z } from 'zod'
import type { Conversations } from '../agent/conversations.ts'
import { oneLine, type SessionViews } from '../agent/sessions/open-sessions.ts'
import type { EventOf } from '../agent/sessions/session-event.ts'
import type { Session } from '../agent/sessions/sessions.ts'
import type { Clock } from '../base/clock.ts'
import { rounds, setNewest } from '../base/work.ts'
import type { Builds } from '../custom-tools/builder/create-builds.ts'
import { subagentChannel } from '../protocol/messages.ts'
import { toWire } from '../protocol/operation.ts'
import { type noticesReplySchema, page } from '../protocol/page.ts'
import { approvalSentence } from '../security/approval-texts.ts'
import { approvalSource, reportSource } from '../security/approvals.ts'
import type { Database } from '../storage/database.ts'
import { refuseHead, type SentEvent, type StreamReply } from './chat-replies.ts'
import { wantsEvents } from './replies.ts'
import { handle, type Route } from './route.ts'

type Notice = z.output<typeof noticesReplySchema>['notices'][number]

export type Notices = ReturnType<typeof createNotices>

const maxNotices = 50
const textCharacters = 160
/** An unread reply or a build that ended earlier is no news. */
const newsMs = 7 * 24 * 60 * 60_000
/** Several writes of one step are one change. */
const settleMs = 200
const maxKept = 1_000

const scheduled = ['schedule', 'cron', 'webhook', 'system']
/** Turns that continue a conversation of the page. */
const continued = [approvalSource, reportSource, subagentChannel]

/** The newest turn of a session, where it has ended and nothing was said since. */
interface LastTurn {
  seq: number
  source: string
  end: EventOf<'turn_ended'> | undefined
}

/**
 * The open questions and unread results of a user, over all conversations and builds. Nothing is stored: a notice follows from
 * approvals, questions, builds and logs, so that an answer on any channel removes it.
 */
export function createNotices(dependencies: {
  database: Database
  conversations: Pick<Conversations, 'approvals' | 'sessions' | 'historyBack' | 'turnEvents'>
  views: Pick<SessionViews, 'show'>
  builds: Pick<Builds, 'list' | 'questions'>
  clock: Clock
  /** Calls the listener after each write, here or at another daemon of the fleet. */
  onWrite(listener: () => void): () => void
}) {
  const { database, conversations, views, builds, clock, onWrite } = dependencies
  const lastTurns = new Map<string, LastTurn>()

  async function lastTurnOf({ id, userId, lastSeq }: Session): Promise<LastTurn> {
    const known = lastTurns.get(id)
    if (known?.seq === lastSeq) return known
    const events = await conversations.historyBack(userId, id, { limit: 20 })
    const place = events.findLastIndex(({ type }) => type === 'turn_ended')
    const isOver = !events.slice(place + 1).some(({ type }) => type === 'turn_started' || type === 'message_received')
    const end = isOver ? events[place] : undefined
    const turn = end?.turnId ? await conversations.turnEvents(userId, id, end.turnId) : []
    const source = turn.find((event) => event.type === 'turn_started')?.source ?? ''
    const last = { seq: lastSeq, source, end: end?.type === 'turn_ended' ? end : undefined }
    setNewest(lastTurns, id, last, maxKept)
    return last
  }

  /** Approvals that a sub-agent or a build asks for are answered in the conversation above, or at the build. */
  async function placesOf(sessionIds: readonly string[]) {
    if (sessionIds.length === 0) return new Map()
    const rows = await database.read
      .selectFrom('sessions')
      .leftJoin('spawns', 'spawns.id', 'sessions.contact')
      .select(['sessions.id', 'sessions.channel', 'spawns.parent_session_id'])
      .where('sessions.id', 'in', sessionIds)
      .execute()
    return new Map(
      rows.map(({ id, channel, parent_session_id }) => [
        id,
        channel === subagentChannel ? (parent_session_id ?? id) : id,
      ]),
    )
  }

  async function read(userId: string) {
    const now = clock.now()
    const [pending, sessions, listed, questions] = await Promise.all([
      conversations.approvals(userId),
      conversations.sessions(userId, { includeArchived: true }),
      builds.list(userId, { limit: 20 }),
      builds.questions(userId),
    ])
    const places = await placesOf(pending.map(({ sessionId }) => sessionId))
    const shown = await views.show(sessions)
    const titleOf = new Map(shown.map(({ session, title }) => [session.id, title ?? session.contact]))
    const notices: Notice[] = []

    for (const approval of pending) {
      const sessionId = places.get(approval.sessionId) ?? approval.sessionId
      notices.push({
        id: `approval:${approval.id}`,
        kind: 'approval',
        title: titleOf.get(sessionId) ?? '',
        text: oneLine(approvalSentence(approval), textCharacters),
        sessionId,
        buildId: null,
        at: approval.askedAt,
      })
    }
    for (const { id, buildId, name, question, askedAt } of questions) {
      const text = oneLine(question, textCharacters)
      notices.push({ id: `question:${id}`, kind: 'question', title: name, text, sessionId: null, buildId, at: askedAt })
    }
    for (const { id, name, kind: of, state, endedAt } of listed) {
      if ((state !== 'complete' && state !== 'failed') || endedAt === null || endedAt < now - newsMs) continue
      const kind = `${of}_${state === 'complete' ? 'ready' : 'failed'}` as const
      notices.push({ id: `build:${id}`, kind, title: name, text: '', sessionId: null, buildId: id, at: endedAt })
    }
    const asking = new Set(places.values())
    for (const { session, title, isUnread } of shown) {
      const isNews = session.state === 'active' && session.updatedAt >= now - newsMs
      if (!isNews || asking.has(session.id)) continue
      const last = await lastTurnOf(session)
      const kind = last.end && kindOf(last.end, last.source, { session, isUnread })
      if (!last.end || !kind) continue
      const said = kind === 'question' ? (last.end.question ?? last.end.text) : last.end.text
      notices.push({
        id: `turn:${last.end.turnId}`,
        kind,
        title: title ?? session.contact,
        text: session.remembered === 0 ? '' : oneLine(said, textCharacters),
        sessionId: session.id,
        buildId: null,
        at: last.end.at,
      })
    }

    const expiries = [...pending, ...questions].map(({ expiresAt }) => expiresAt)
    return {
      reply: { notices: notices.toSorted((one, other) => other.at - one.at).slice(0, maxNotices) },
      /** Changes whenever the list of sessions shows something else. */
      sessions: JSON.stringify(
        shown.map(({ session: { id, lastSeq, state, model }, title, isUnread, isPinned }) => {
          return [id, lastSeq, state, model, title, isUnread, isPinned]
        }),
      ),
      /** The next time at which one of them expires without a write. */
      expiresAt: expiries.length > 0 ? Math.min(...expiries) : undefined,
    }
  }

  return {
    list: async (userId: string) => (await read(userId)).reply,
    /** The list now and after each change, and each change of the list of sessions, until the signal aborts. */
    async *follow(userId: string, signal: AbortSignal): AsyncGenerator<SentEvent> {
      let cancelSettle: (() => void) | undefined
      let cancelExpiry: (() => void) | undefined
      let wakeNow = () => {}
      const follow = (wake: () => void) => {
        wakeNow = wake
        const unfollow = onWrite(() => {
          cancelSettle ??= clock.after(settleMs, () => {
            cancelSettle = undefined
            wake()
          })
        })
        return () => {
          unfollow()
          cancelSettle?.()
          cancelExpiry?.()
        }
      }
      let sent = ''
      let sessionsSent: string | undefined
      for await (const _ of rounds(signal, follow)) {
        const { reply, sessions, expiresAt } = await read(userId)
        cancelExpiry?.()
        if (expiresAt !== undefined) cancelExpiry = clock.after(Math.max(0, expiresAt - clock.now()), wakeNow)
        const data = toWire(page.notices.reply, reply) as object
        const text = JSON.stringify(data)
        if (text !== sent) yield { name: 'notices', data }
        sent = text
        if (sessionsSent !== undefined && sessions !== sessionsSent) yield { name: 'sessions', data: {} }
        sessionsSent = sessions
      }
    },
  }
}

function kindOf(
  end: EventOf<'turn_ended'>,
  source: string,
  { session, isUnread }: { session: Session; isUnread: boolean },
): Notice['kind'] | undefined {
  if (end.outcome === 'question') return 'question'
  if (!isUnread || !end.deliver || end.outcome === 'stopped') return undefined
  if (scheduled.includes(source)) return 'schedule'
  if (source !== 'web' && !(session.channel === 'web' && continued.includes(source))) return undefined
  return end.outcome === 'failed' ? 'reply_failed' : 'reply'
}

/** One connection of the page for everything that it announces. */
export function createNoticeRoutes(notices: Notices, streamReply: StreamReply): Route[] {
  return [
    handle(page.notices, async ({ userId, context }) => {
      if (!wantsEvents(context)) return notices.list(userId)
      refuseHead(context)
      return streamReply(userId, async (signal) => ({ events: notices.follow(userId, signal) }))
    }),
  ]
}
