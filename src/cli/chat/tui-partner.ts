import { setTimeout as wait } from 'node:timers/promises'
import type { TuiPartner } from '../../channels/terminal/tui/tui-partner.ts'
import type { Attachment } from '../../protocol/api.ts'
import { approvalReplySchema, approvalsReplySchema } from '../../protocol/approval-api.ts'
import { finderReplySchema } from '../../protocol/finder-api.ts'
import { createCapsClient } from '../caps/caps-client.ts'
import { openChatSession } from '../chat-session.ts'
import { CommandError } from '../command-error.ts'
import { isGone } from '../connect.ts'
import { cliChannel } from '../find-session.ts'
import type { ChatLine } from './chat-line.ts'
import { createSessionFollower, whereOf } from './follow-session.ts'

const pastMessages = 6
const pastEvents = 200
const offered = 30
const pauseMs = 300

/** The session of a chat as a terminal that draws needs it, over the HTTP API. */
export async function openTuiPartner(line: ChatLine): Promise<TuiPartner> {
  const { client, found } = line
  const { partner, commands, ownCommands } = openChatSession(line)
  const first = await found()
  const follower = createSessionFollower(line, first)
  const caps = () => createCapsClient(client().transport)

  async function sendOnce(message: { key: string; text: string; attachments: readonly Attachment[] }) {
    const { key, text, attachments } = message
    const place = { session: line.session(), channel: cliChannel, source: cliChannel }
    const body = { message: text, key, attachments, ...place }
    const done = new AbortController()
    let receipt: { messageId: string; sessionId: string } | undefined
    const onHeaders = (headers: Record<string, unknown>) => {
      const { 'familiar-message-id': messageId, 'familiar-session-id': sessionId } = headers
      if (typeof messageId === 'string' && typeof sessionId === 'string') receipt = { messageId, sessionId }
      done.abort()
    }
    try {
      // The turn goes on without this stream: the session's own one tells of it.
      for await (const _ of client().transport.events('/chat', { body, signal: done.signal, onHeaders })) break
    } catch (error) {
      if (!receipt) throw error
    }
    if (!receipt) throw new CommandError('Familiar did not say whether the message arrived.', { code: 'internal' })
    follower.arrivedIn(receipt.sessionId)
    return receipt
  }

  return {
    where: `session ${line.session()}, ${whereOf(line)}`,
    async send(message) {
      for (;;) {
        try {
          return await sendOnce(message)
        } catch (error) {
          if (!line.connection().daemon || !isGone(error)) throw error
          // The same key again: whatever had arrived already makes no second turn.
          await line.reconnect().catch(() => undefined)
          await wait(pauseMs)
        }
      }
    },
    follow: follower.follow,
    stop: partner.stop,
    commands: {
      ...commands,
      async run(text, confirm) {
        const reply = await commands.run(text, confirm)
        const session = await found()
        if (session) follower.moveTo(session)
        return reply
      },
    },
    ownCommands,
    async find(kind, query, signal) {
      const asked = new URLSearchParams({ kind, query, limit: String(offered) })
      const reply = await client().transport.ask(`/finder?${asked}`, finderReplySchema, { signal })
      return reply.found.map(({ name, reference }) => ({ text: reference, label: name }))
    },
    async approvals() {
      const session = await found()
      const { approvals } = await client().transport.ask('/approvals', approvalsReplySchema)
      return approvals.filter(({ session_id, state }) => session_id === session?.id && state === 'asked')
    },
    async answerApproval(id, answer) {
      const path = `/approvals/${encodeURIComponent(id)}`
      await client().transport.ask(path, approvalReplySchema, { body: { answer } })
    },
    builds: {
      running: async () => (await caps().builds({ limit: 20 })).filter(({ state }) => state === 'running'),
      follow: (id, signal) => caps().buildEvents(id, 0, signal),
      questions: () => caps().questions(),
      answer: (id, text) => caps().answer(id, text),
      giveSecret: (id, value) => caps().giveSecret(id, value),
    },
    async facts() {
      const [{ stats }, session] = await Promise.all([client().status(), found()])
      const report = session && (await client().context(session.id))
      return {
        session: session?.contact ?? line.session(),
        model: stats?.model,
        contextTokens: report?.last_request_tokens ?? undefined,
        windowTokens: report?.threshold_tokens,
        costTodayUsd: stats?.cost_today_usd,
      }
    },
    async context() {
      const session = await found()
      return session && client().context(session.id)
    },
    async past() {
      if (!first) return []
      const after = Math.max(0, first.events - pastEvents)
      const { events } = await client().history(first.id, { after, limit: pastEvents })
      return events
        .flatMap(({ role, text }) => (role !== null && text !== null && text.trim() !== '' ? [{ role, text }] : []))
        .slice(-pastMessages)
    },
  }
}
