import type { PlainChatRequest } from '../../protocol/api.ts'
import { FamiliarError } from '../../protocol/error.ts'

/** The conversation is kept here, so of a client's whole list only its newest message is news. */
export function lastUserMessage(message: string | undefined, messages: PlainChatRequest['messages']): string {
  if (message !== undefined) return message
  const last = messages?.findLast(({ role }) => role === 'user')
  if (!last) throw new FamiliarError('bad_request', 'body: needs "message", or "messages" with one of the user')
  if (typeof last.content === 'string') return last.content
  return last.content.flatMap((part) => (part.type === 'text' && part.text ? [part.text] : [])).join('\n')
}
