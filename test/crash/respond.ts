import type { ModelRequest } from '../support/fake-model/recorded-request.ts'
import type { Step } from '../support/fake-model/step.ts'
import { errandsIn, tokensIn } from './errand.ts'

type Errand = ReturnType<typeof errandsIn>[number]

/** Over every threshold of the crash suite's config. */
const fullWindow = 500_000

/** The model of the crash suite: does the errands of the newest message, round by round, and then says so. */
export function respond(request: ModelRequest): Step {
  // Only a request for a summary comes without tools.
  if (request.tools.length === 0) return { text: `Errands so far: ${tokensIn(request.lastUserText).join(' ')}` }
  const { messages } = request
  const asked = messages.findLastIndex(({ role, text }) => role === 'user' && errandsIn(text).length > 0)
  const errands = errandsIn(messages[asked]?.text ?? '')
  const done = messages.slice(asked + 1).filter(({ role }) => role === 'assistant').length
  const rounds = errands.flatMap((errand) => errand.rounds.map((tools, round) => ({ errand, tools, round })))
  const next = rounds[done]
  if (next) return callTools(next)
  if (errands.some(({ asks }) => asks)) return ask(errands)
  const text = `Done: ${errands.map(({ token }) => token).join(' ')}`
  const usage = errands.some(({ fills }) => fills) ? { usage: { input: fullWindow } } : {}
  return { thinking: { text: 'All of it is done.' }, text, ...usage }
}

function callTools({ errand, tools, round }: { errand: Errand; tools: string[]; round: number }): Step {
  const toolCalls = tools.map((name, place) => ({ name, input: { operation: `${errand.token}/${round}/${place}` } }))
  return { thinking: { text: `Round ${round} of ${errand.token}.` }, text: 'One moment.', toolCalls }
}

function ask(errands: Errand[]): Step {
  const toolCalls = [{ name: 'ask_user', input: { question: 'Which colour shall it be?' } }]
  return { text: `A question on ${errands.map(({ token }) => token).join(' ')}`, toolCalls }
}
