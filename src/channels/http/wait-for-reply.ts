import type { Receipt } from '../../agent/conversations.ts'
import { chatReply } from './chat-reply.ts'
import { errorReply } from './error-reply.ts'
import type { HttpContext, HttpDependencies } from './http-dependencies.ts'

/**
 * Answers when the turn of a message has ended or waits for its client. Whoever stops waiting, the client or the clock,
 * does not stop the turn.
 */
export async function waitForReply(
  { conversations, clock }: Pick<HttpDependencies, 'conversations' | 'clock'>,
  context: HttpContext,
  wait: Pick<Receipt, 'messageId' | 'sessionId'> & { timeoutSeconds?: number | undefined },
): Promise<Response> {
  const { messageId, sessionId, timeoutSeconds } = wait
  const { signal } = context.req.raw
  if (timeoutSeconds === undefined) return chatReply(await conversations.waitForReply(messageId, signal))
  const timeout = new AbortController()
  const cancel = clock.after(timeoutSeconds * 1000, () => timeout.abort())
  try {
    return chatReply(await conversations.waitForReply(messageId, AbortSignal.any([timeout.signal, signal])))
  } catch (cause) {
    if (!timeout.signal.aborted) throw cause
    const message = `The turn takes longer than ${timeoutSeconds} seconds. It goes on; watch the session's events.`
    return errorReply('timeout', message, { details: { message_id: messageId, session_id: sessionId } })
  } finally {
    cancel()
  }
}
