import type { HttpContext } from '../http-dependencies.ts'
import type { BegunTurn } from './begun-turn.ts'

export function turnHeaders({ sessionId, messageId }: BegunTurn): Record<string, string> {
  return { 'familiar-session-id': sessionId, 'familiar-message-id': messageId }
}

/** What the model thinks is told to whoever asks for it. */
export function wantsThinking(context: HttpContext): boolean {
  return context.req.header('familiar-thinking') === 'true'
}
