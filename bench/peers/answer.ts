import type { Responder } from '../../test/support/fake-model/start-fake-model.ts'
import { respond as echoMessage } from '../echo-message.ts'

/** Text in a message that makes the model call a tool first. */
export const toolCue = 'Look up the word'

/** Calls the bench's tool, or the cheapest one that Familiar brings itself. */
export const respond: Responder = (request) => {
  if (!request.lastUserText.includes(toolCue) || request.toolResults.length > 0) return echoMessage(request)
  if (request.tools.includes('look_up')) return { toolCalls: [{ name: 'look_up', input: { word: 'sea' } }] }
  return { toolCalls: [{ name: 'session_status', input: {} }] }
}
