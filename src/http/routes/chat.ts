import type { InboundMessage } from '../../agent/conversations.ts'
import type { PlainChatRequest } from '../../protocol/api.ts'
import * as api from '../../protocol/api.ts'
import { plainReply } from '../../protocol/choices.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import { cursorBefore, eventsOfTurn, type StreamReply, toSentEvents, waitForReply } from '../chat-replies.ts'
import type { HttpContext, HttpDependencies } from '../dependencies.ts'
import { toInboundMessage } from '../inbound-message.ts'
import { writeMessage } from '../openai/client-list.ts'
import { wantsEvents } from '../replies.ts'
import { handle, type Route } from '../route.ts'

/** Sending a message: wait for the reply, stream it, or return at once. */
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

  /** The texts of the session that the request names; empty if there is none yet. */
  async function textsOf(userId: string, { session: name, channel }: PlainChatRequest): Promise<Set<string>> {
    const sessions = await conversations.sessions(userId)
    const session = sessions.find(({ id, contact, channel: of }) => id === name || (contact === name && of === channel))
    const texts = new Set<string>()
    if (!session) return texts
    for (const event of await conversations.historyBack(userId, session.id, { limit: newestEvents })) {
      if (event.type === 'message_received') texts.add(event.text)
      if (event.type === 'turn_ended') texts.add(event.text).add(plainReply(event))
      if (event.type === 'message_received') for (const text of quotedIn(event.text)) texts.add(text)
    }
    return texts
  }

  return [
    handle(api.chat.send, async ({ query, body, context }) => {
      const inbound = await toInboundMessage(dependencies, context, body, { immediate: true })
      return wantsEvents(context) ? watch(inbound) : wait(context, inbound, query.timeoutSeconds)
    }),
    handle(api.chat.notify, async ({ body, context }) => {
      const inbound = await toInboundMessage(dependencies, context, body, { immediate: false, isNotice: true })
      return conversations.submit(inbound)
    }),
    handle(api.chat.plain, async ({ userId, body, context }) => {
      const { message, messages, ...rest } = body
      const { text, quotes } = readPlainChat({ message, messages }, await textsOf(userId, body))
      const request = { ...rest, attachments: [...rest.attachments, ...quotes], message: text }
      const inbound = await toInboundMessage(dependencies, context, request, { immediate: true })
      return wantsJson(context) ? wait(context, inbound) : watch(inbound, plainEvents)
    }),
  ]
}

const newestEvents = 1_000

const plainEvents: ReadonlySet<string> = new Set([
  'tool_start',
  'tool_calls',
  'tool_progress',
  'tool_result',
  'response',
])

function wantsJson(context: HttpContext): boolean {
  return !wantsEvents(context) && (context.req.header('accept')?.includes('application/json') ?? false)
}

/**
 * The newest message of a client's list, after quotes of the earlier ones that are not in the session. `known` are the
 * texts of the session.
 */
function readPlainChat(
  { message, messages = [] }: Pick<PlainChatRequest, 'message' | 'messages'>,
  known: ReadonlySet<string>,
) {
  const said = lastUserMessage(message, messages)
  const last = message === undefined ? messages.findLastIndex(({ role }) => role === 'user') : messages.length
  const items = messages.slice(0, last).map(({ role, content }) => ({ role, text: textOf(content) }))
  const isNews = (text: string) => text !== '' && !known.has(text) && !(message !== undefined && text === message)
  const unseen = items.filter(({ role, text }) => role !== 'system' && isNews(text))
  const instructions = items.flatMap(({ role, text }) => (role === 'system' && isNews(text) ? [text] : [])).join('\n\n')
  return writeMessage({
    instructions: instructions === '' ? undefined : instructions,
    unseen: unseen.map(({ role, text }) => ({
      said: { text: role === 'user' ? text : '', files: [] },
      answers: role === 'assistant' ? [text] : [],
      calls: [],
    })),
    newest: { said: { text: said, files: [] }, answers: [], calls: [] },
    format: { kind: 'text' },
    toCall: undefined,
  })
}

function lastUserMessage(message: string | undefined, messages: PlainChatRequest['messages']): string {
  if (message !== undefined) return message
  const last = messages?.findLast(({ role }) => role === 'user')
  if (!last) throw new FamiliarError('bad_request', 'body: needs "message", or "messages" with one of the user')
  return textOf(last.content)
}

function textOf(content: NonNullable<PlainChatRequest['messages']>[number]['content']): string {
  if (typeof content === 'string') return content
  return content.flatMap((part) => (part.type === 'text' && part.text ? [part.text] : [])).join('\n')
}

/** The parts of an earlier message of such a client: its quoted lines, its instructions, and the text below them. */
function quotedIn(message: string): string[] {
  const fences = [...message.matchAll(/^(`{3,}) client (history|instructions)\n([\s\S]*?)\n\1$/gm)]
  const said =
    fences.length === 0 ? [] : [message.slice((fences.at(-1)?.index ?? 0) + (fences.at(-1)?.[0].length ?? 0)).trim()]
  return [
    ...said,
    ...fences.flatMap(([, , kind, content = '']) =>
      kind === 'instructions' ? [content] : content.split(/^(?:user|assistant): /m).map((text) => text.trimEnd()),
    ),
  ]
}
