import { frameDocument } from '../../../../cards/frame-document.ts'
import {
  messageRequestSchema,
  type NotifyReply,
  notifyReplySchema,
  type SessionReply,
  sessionReplySchema,
} from '../../../../protocol/api.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import {
  type CardDocumentReply,
  cardDocumentReplySchema,
  type PageSessionsReply,
  pageSessionsReplySchema,
  readRequestSchema,
  renameRequestSchema,
  resendReplySchema,
  resendRequestSchema,
  type TurnEventsReply,
  turnEventsQuerySchema,
  turnEventsReplySchema,
} from '../../../../protocol/page-api.ts'
import type { LoggedEvent } from '../../../../sessions/session-event.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpDependencies } from '../../http-dependencies.ts'
import { clientToolsOf, toInboundMessage } from '../../inbound-message.ts'
import { isoTime } from '../../iso-time.ts'
import { commonHeaders, jsonReply } from '../../json-reply.ts'
import type { HttpPage } from '../../page/http-page.ts'
import { defineRoute, type Route } from '../../route.ts'
import { sessionOf, sessionReply } from '../../session-reply.ts'

/** What a page that talks needs: the list of sessions, a session from its end, files and cards, and saying something differently. */
export function createTalkRoutes(dependencies: HttpDependencies, page: HttpPage): Route[] {
  const { conversations, media } = dependencies

  /** Nobody reads a file or a card by its name alone: it must be in a session of theirs. */
  async function findEvent(
    { id, userId }: { id: string; userId: string },
    wanted: (event: LoggedEvent) => boolean,
  ): Promise<LoggedEvent> {
    let before: number | undefined
    do {
      const events = await conversations.historyBack(userId, id, { before, limit: 500 })
      const found = events.findLast(wanted)
      if (found) return found
      before = events[0]?.seq
    } while (before !== undefined && before > 1)
    throw new FamiliarError('not_found', 'There is no such thing in the session')
  }

  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/messages',
      summary:
        'Say something; it is kept for good when this answers. What comes of it is told by the events of its session.',
      auth: 'token',
      scope: 'chat',
      body: messageRequestSchema,
      attachments: true,
      reply: { status: 202, schema: notifyReplySchema },
      async handle({ context, body }) {
        const inbound = await toInboundMessage(dependencies, context, body, { immediate: true })
        const { messageId, sessionId, duplicate } = await conversations.submit(inbound)
        const reply: NotifyReply = { message_id: messageId, session_id: sessionId, duplicate }
        return jsonReply(reply, { status: 202 })
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/page/sessions',
      summary: 'The sessions as a list shows them: titles, newest words, what is unread.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: pageSessionsReplySchema },
      async handle({ context }) {
        const sessions = await conversations.sessions(callerOf(context).userId, { includeArchived: true })
        const running = page.runningSessions()
        const views = await page.views.show(sessions)
        const reply: PageSessionsReply = {
          sessions: views.map(({ session, title, preview, isUnread }) => ({
            id: session.id,
            channel: session.channel,
            contact: session.contact,
            title,
            preview,
            state: session.state,
            is_unread: isUnread && session.state === 'active',
            is_running: running.has(session.id),
            updated_at: isoTime(session.updatedAt),
          })),
        }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/sessions/:id/turn-events',
      summary: 'The newest events of a session, or those before a place, as its stream tells them.',
      auth: 'token',
      scope: 'read',
      query: turnEventsQuerySchema,
      reply: { status: 200, schema: turnEventsReplySchema },
      async handle({ context, query }) {
        const { id, userId } = await sessionOf(dependencies, context)
        return jsonReply((await conversations.pastEvents(userId, id, query)) satisfies TurnEventsReply)
      },
    }),
    defineRoute({
      method: 'PUT',
      path: '/api/v1/sessions/:id/read',
      summary: 'What a session holds up to this place was seen.',
      auth: 'token',
      scope: 'chat',
      body: readRequestSchema,
      reply: { status: 200, schema: sessionReplySchema },
      async handle({ context, body }) {
        const session = await sessionOf(dependencies, context)
        await page.views.markRead(session.id, Math.min(body.seq, session.lastSeq))
        return jsonReply(sessionReply(session) satisfies SessionReply)
      },
    }),
    defineRoute({
      method: 'PUT',
      path: '/api/v1/sessions/:id/title',
      summary: 'Call a session something; an empty title takes that back.',
      auth: 'token',
      scope: 'chat',
      body: renameRequestSchema,
      reply: { status: 200, schema: sessionReplySchema },
      async handle({ context, body }) {
        const session = await sessionOf(dependencies, context)
        await page.views.setTitle(session.id, body.title)
        return jsonReply(sessionReply(session) satisfies SessionReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/sessions/:id/resend',
      summary: 'Say a message differently, in a fork from before it; the session itself stays as it is.',
      auth: 'token',
      scope: 'chat',
      body: resendRequestSchema,
      reply: { status: 201, schema: resendReplySchema },
      async handle({ context, body }) {
        const session = await sessionOf(dependencies, context)
        const { userId, channel } = session
        const said = await findEvent(session, (event) => messageIdOf(event) === body.message_id)
        const contact = `${session.contact.slice(0, 150)} (${isoTime(dependencies.clock.now()).slice(0, 19).replace('T', ' ')})`
        const fork = await conversations.fork(userId, session.id, contact, { beforeMessage: body.message_id })
        const { messageId } = await conversations.submit({
          userId,
          channel,
          contact: fork.contact,
          sender: userId,
          source: 'web',
          text: body.message,
          // What was sent along stays: it is said differently, not less of it.
          media: mediaOf(said),
          immediate: true,
          metadata: {},
          ...clientToolsOf(body),
        })
        return jsonReply({ session_id: fork.id, message_id: messageId }, { status: 201 })
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/sessions/:id/cards/:call',
      summary: 'What a call of a tool showed, as the document of a frame without rights.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: cardDocumentReplySchema },
      async handle({ context }) {
        const session = await sessionOf(dependencies, context)
        const callId = context.req.param('call')
        const found = await findEvent(session, (event) => event.type === 'tool_finished' && event.callId === callId)
        if (found.type !== 'tool_finished' || !found.card) throw new FamiliarError('not_found', 'It showed no card')
        return jsonReply({ document: frameDocument(found.card) } satisfies CardDocumentReply)
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/sessions/:id/media/:hash',
      summary: 'A file of a session.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, mediaTypes: ['application/octet-stream'] },
      async handle({ context }) {
        const session = await sessionOf(dependencies, context)
        const hash = context.req.param('hash') ?? ''
        await findEvent(session, (event) => mediaOf(event).some((part) => part.hash === hash))
        // Its own type is for the page to know: served as itself, a file of a tool's would be a page of ours.
        return new Response(new Uint8Array(await media.load(hash)), {
          headers: { ...commonHeaders, 'content-type': 'application/octet-stream' },
        })
      },
    }),
  ]
}

function messageIdOf(event: LoggedEvent): string | undefined {
  return event.type === 'message_received' ? event.messageId : undefined
}

function mediaOf(event: LoggedEvent) {
  return event.type === 'message_received' || event.type === 'tool_finished' ? (event.media ?? []) : []
}
