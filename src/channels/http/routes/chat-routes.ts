import type { InboundMessage, Receipt } from '../../../agent/conversations.ts'
import {
  chatQuerySchema,
  type MessageRequest,
  messageRequestSchema,
  type NotifyReply,
  notifyReplySchema,
  plainChatRequestSchema,
} from '../../../protocol/api.ts'
import { turnReplySchema } from '../../../protocol/client-tool-api.ts'
import { toSentEvents } from '../event-stream-reply.ts'
import type { HttpContext, HttpDependencies } from '../http-dependencies.ts'
import { toInboundMessage } from '../inbound-message.ts'
import { jsonReply } from '../json-reply.ts'
import { lastUserMessage } from '../plain-chat.ts'
import { defineRoute, type Route } from '../route.ts'
import type { StreamReply } from '../stream-reply.ts'
import { cursorBefore, eventsOfTurn } from '../turn-events.ts'
import { waitForReply } from '../wait-for-reply.ts'
import { wantsEvents } from '../wants-events.ts'

/** Ways to say something: wait for the answer, watch it come, or leave it. */
export function createChatRoutes(dependencies: HttpDependencies, streamReply: StreamReply): Route[] {
  const { conversations } = dependencies

  async function wait(context: HttpContext, inbound: InboundMessage, timeoutSeconds?: number): Promise<Response> {
    return waitForReply(dependencies, context, { ...(await conversations.submit(inbound)), timeoutSeconds })
  }

  async function watch(inbound: InboundMessage, only?: ReadonlySet<string>): Promise<Response> {
    const { userId } = inbound
    const cursorOf = await cursorBefore(dependencies, inbound)
    return streamReply(userId, async (signal) => {
      const receipt = await conversations.submit(inbound)
      const cursor = cursorOf(receipt)
      const events = eventsOfTurn(dependencies, { userId, receipt, cursor, signal })
      const headers = { 'familiar-session-id': receipt.sessionId, 'familiar-message-id': receipt.messageId }
      return { events: toSentEvents(events, only), headers }
    })
  }

  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/chat',
      summary: 'Say something and get the answer, as JSON or, with "Accept: text/event-stream", as it comes.',
      auth: 'token',
      scope: 'chat',
      body: messageRequestSchema,
      query: chatQuerySchema,
      attachments: true,
      reply: { status: 200, schema: turnReplySchema, events: true },
      async handle({ context, body, query }) {
        const inbound = await toInboundMessage(dependencies, context, body, { immediate: true })
        return wantsEvents(context) ? watch(inbound) : wait(context, inbound, query.timeout_seconds)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/notify',
      summary: 'Leave a message; it is kept for good when this answers, and its turn comes by itself.',
      auth: 'token',
      scope: 'chat',
      body: messageRequestSchema,
      attachments: true,
      reply: { status: 202, schema: notifyReplySchema },
      async handle({ context, body }) {
        const inbound = await toInboundMessage(dependencies, context, body, { immediate: false, isNotice: true })
        const receipt = await conversations.submit(inbound)
        const reply: NotifyReply = { ...idsOf(receipt), duplicate: receipt.duplicate }
        return jsonReply(reply, { status: 202 })
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/chat',
      summary: 'The same for clients that send their whole list of messages and read a stream of tool events.',
      auth: 'token',
      scope: 'chat',
      body: plainChatRequestSchema,
      attachments: true,
      reply: { status: 200, schema: turnReplySchema, events: true },
      async handle({ context, body }) {
        const { message, messages, ...rest } = body
        const request: MessageRequest = { ...rest, message: lastUserMessage(message, messages) }
        const inbound = await toInboundMessage(dependencies, context, request, { immediate: true })
        return wantsJson(context) ? wait(context, inbound) : watch(inbound, plainEvents)
      },
    }),
  ]
}

const plainEvents: ReadonlySet<string> = new Set([
  'tool_start',
  'tool_calls',
  'tool_progress',
  'tool_result',
  'response',
])

function idsOf(receipt: Receipt): { message_id: string; session_id: string } {
  return { message_id: receipt.messageId, session_id: receipt.sessionId }
}

function wantsJson(context: HttpContext): boolean {
  return !wantsEvents(context) && (context.req.header('accept')?.includes('application/json') ?? false)
}
