import { setTimeout as wait } from 'node:timers/promises'
import { type Attachment, type SessionReply, sessions } from '../../protocol/api.ts'
import { type BuildEvent, builds } from '../../protocol/custom-tools.ts'
import { finder } from '../../protocol/files.ts'
import { type ApprovalOutcome, approvals } from '../../protocol/permissions.ts'
import { home } from '../../protocol/status.ts'
import { CommandError } from '../command.ts'
import { buildEvents } from '../commands/builds.ts'
import { cliChannel, isGone } from '../connect.ts'
import { type ChatLine, openChatSession, whereOf } from './chat-line.ts'
import type { CompletionOffer } from './completion.ts'
import type { News, StatusFacts } from './conversation.ts'

interface Outgoing {
  key: string
  text: string
  attachments: readonly Attachment[]
  answers?: string
}

const pastMessages = 6
const pastEvents = 200
const offered = 30
const tuiPartnerPauseMs = 300

export type TuiPartner = Awaited<ReturnType<typeof openTuiPartner>>

/**
 * The session behind a terminal that draws, over the HTTP API. Its calls fail with errors whose message a user can read;
 * it reconnects by itself.
 */
export async function openTuiPartner(line: ChatLine) {
  const { client, found } = line
  const { partner, commands, ownCommands } = openChatSession(line)
  const first = await found()
  const follower = createSessionFollower(line, first)
  const ofBuilds = () => client().api(builds)

  async function sendOnce(message: Outgoing) {
    const { key, text, attachments, answers } = message
    const place = { session: line.session(), channel: cliChannel, source: cliChannel }
    const body = { message: text, key, attachments, ...(answers !== undefined && { answers }), ...place }
    const done = new AbortController()
    let receipt: { messageId: string; sessionId: string } | undefined
    const onHeaders = (headers: Record<string, unknown>) => {
      const { 'familiar-message-id': messageId, 'familiar-session-id': sessionId } = headers
      if (typeof messageId === 'string' && typeof sessionId === 'string') receipt = { messageId, sessionId }
      done.abort()
    }
    try {
      // The turn continues without this stream: the stream of the session reports it.
      for await (const _ of client().transport.events('/chat', { body, signal: done.signal, onHeaders })) break
    } catch (error) {
      if (!receipt) throw error
    }
    if (!receipt)
      throw new CommandError('No confirmation from Familiar: the message may not have arrived.', { code: 'internal' })
    follower.arrivedIn(receipt.sessionId)
    return receipt
  }

  return {
    /** The place where it runs, in a few words. */
    where: `session ${line.session()}, ${whereOf(line)}`,
    /** Resolves once the message is safe, however often the line breaks. The same key makes one turn. */
    async send(message: Outgoing): Promise<{ messageId: string }> {
      for (;;) {
        try {
          return await sendOnce(message)
        } catch (error) {
          if (!line.connection().daemon || !isGone(error)) throw error
          // The same key again: a message that had arrived makes no second turn.
          await line.reconnect().catch(() => undefined)
          await wait(tuiPartnerPauseMs)
        }
      }
    },
    follow: follower.follow,
    stop: partner.stop,
    commands: {
      ...commands,
      async run(text: string, confirm?: string) {
        const reply = await commands.run(text, confirm)
        const session = await found()
        if (session) follower.moveTo(session)
        return reply
      },
    },
    ownCommands,
    async find(kind: 'file' | 'block', query: string, signal: AbortSignal): Promise<readonly CompletionOffer[]> {
      const { found } = await client().api(finder).find({ kind, query, limit: offered }, signal)
      return found.map(({ name, reference }) => ({ text: reference, label: name }))
    },
    /** Calls of the session that wait for approval. */
    async approvals() {
      const session = await found()
      const waiting = await client().api(approvals).list()
      return waiting.approvals.filter(({ session_id, state }) => session_id === session?.id && state === 'asked')
    },
    async answerApproval(id: string, { answer, scope }: Pick<ApprovalOutcome, 'answer' | 'scope'>): Promise<void> {
      await client().api(approvals).answer({ id, answer, scope })
    },
    builds: {
      running: async () => (await ofBuilds().list({ limit: 20 })).builds.filter(({ state }) => state === 'running'),
      /** To the end of the build, from its beginning. */
      follow: (id: string, signal: AbortSignal): AsyncIterable<BuildEvent> =>
        buildEvents(client(), { id, after: 0 }, signal),
      /** The questions that still wait. */
      questions: async (): Promise<readonly { id: string }[]> => (await ofBuilds().questions()).questions,
      answer: async (id: string, answer: string) => void (await ofBuilds().answer({ id, answer })),
      giveSecret: async (id: string, value: string) => void (await ofBuilds().giveSecret({ id, value })),
    },
    async facts(): Promise<StatusFacts> {
      const [{ stats }, session] = await Promise.all([client().api(home).status(), found()])
      const report = session && (await client().api(sessions).context({ id: session.id }))
      return {
        session: session?.contact ?? line.session(),
        model: stats?.model,
        contextTokens: report?.last_request_tokens ?? undefined,
        windowTokens: report?.threshold_tokens,
        costTodayUsd: stats?.cost_today_usd,
      }
    },
    /** Undefined before the first message. */
    async context() {
      const session = await found()
      return session && client().api(sessions).context({ id: session.id })
    },
    /** The latest messages, oldest first. */
    async past(): Promise<readonly { role: 'user' | 'assistant'; text: string }[]> {
      if (!first) return []
      const after = Math.max(0, first.events - pastEvents)
      const { events } = await client().api(sessions).history({ id: first.id, after, limit: pastEvents })
      return events
        .flatMap(({ role, text }) => (role !== null && text !== null && text.trim() !== '' ? [{ role, text }] : []))
        .slice(-pastMessages)
    },
  }
}

const pauseMs = 500
const lookMs = 2_000

/** Reads the session of a chat from its line, also after a lost connection. */
function createSessionFollower(line: ChatLine, first: SessionReply | undefined) {
  let place = first && placeIn(first)
  let changed = new AbortController()
  let hear: (news: News) => void = () => undefined

  function goTo(next: { sessionId: string; cursor: string }): void {
    place = next
    changed.abort()
    changed = new AbortController()
  }

  async function read(listener: (news: News) => void, signal: AbortSignal): Promise<void> {
    // There is nothing to read before the first message, but the connection is checked.
    while (!place) {
      await wait(lookMs, undefined, { signal })
      await line.client().api(home).status({}, signal)
    }
    const from = place
    for await (const { cursor, event } of line.client().events(from.sessionId, { after: from.cursor, signal })) {
      from.cursor = cursor
      listener({ type: 'event', event })
    }
  }

  return {
    /** Until the signal aborts. Never throws. */
    async follow(listener: (news: News) => void, signal: AbortSignal): Promise<void> {
      hear = listener
      while (!signal.aborted) {
        const either = AbortSignal.any([signal, changed.signal])
        let error: unknown
        await read(listener, either).catch((cause: unknown) => {
          error = cause
        })
        if (either.aborted) continue
        // A stream that ends is of a Familiar that stops; what failed otherwise is tried again after a moment.
        if (error !== undefined && !isGone(error)) await wait(pauseMs, undefined, { signal }).catch(() => undefined)
        if (!line.connection().daemon) {
          await wait(pauseMs, undefined, { signal }).catch(() => undefined)
          continue
        }
        listener({ type: 'lost' })
        await reconnect(line, signal)
        if (signal.aborted) return
        if (place) place.cursor = wholeStep(place.cursor)
        listener({ type: 'back', where: whereOf(line) })
      }
    },
    /** A message arrived in this session. A new session is read from its beginning. */
    arrivedIn(sessionId: string): void {
      if (place?.sessionId !== sessionId) goTo({ sessionId, cursor: '0' })
    },
    moveTo(session: SessionReply): void {
      if (place?.sessionId === session.id) return
      goTo(placeIn(session))
      hear({ type: 'moved', session: session.contact })
    },
  }
}

async function reconnect(line: ChatLine, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await line.reconnect()
      await line.client().api(home).status({}, signal)
      return
    } catch {
      await wait(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }
}

/** Without what was seen of a response under way: after a restart another one comes in its place. */
export function wholeStep(cursor: string): string {
  return cursor.replace(/^(\d+)\.[1-9]\d*(?:\.\d+)?$/, '$1')
}

function placeIn(session: SessionReply): { sessionId: string; cursor: string } {
  return { sessionId: session.id, cursor: String(session.events) }
}
