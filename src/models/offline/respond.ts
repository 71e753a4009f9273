import type { Ids } from '../../base/ids.ts'
import { canonicalJson } from '../../base/json.ts'
import type { ToolCallPart } from '../../protocol/message.ts'
import type { ModelRequest, ModelResponse } from '../model.ts'
import type { CallIntent, Intent } from './ability.ts'
import { estimateUsage } from './estimate-usage.ts'
import { planReply } from './plan-reply.ts'
import { readTurn, type Turn } from './read-turn.ts'
import { texts } from './texts.ts'
import { answerOf } from './tool-answer.ts'

// Finding and then changing takes two rounds. The rest is for turns that another model began.
const mostRounds = 4
const mostSteps = 6

/** What the newest message asks for by its form: the calls to make next, or what there is to say. */
export function respond(request: ModelRequest, ids: Ids): ModelResponse {
  const turn = readTurn(request.messages)
  const settled = planReply(turn).map((intent) => settle(intent, turn, reachable(request)))
  const calls = turn.rounds < mostRounds ? callsToMake(settled, ids) : []
  if (calls.length > 0) return { parts: calls, stopReason: 'tool_use', usage: estimateUsage(request, calls) }
  const text = settled
    .map((said) => (typeof said === 'string' ? said : texts.outcomeUnknown(said.purpose)))
    .join('\n\n')
  const parts = [{ type: 'text' as const, text }]
  return { parts, stopReason: 'end', usage: estimateUsage(request, parts) }
}

/** Where `find_tools` is offered, whatever it would find can be called by its name. */
function reachable(request: ModelRequest): (tool: string) => boolean {
  const offered = new Set(request.tools.map((tool) => tool.name))
  return (tool) => offered.has(tool) || offered.has('find_tools')
}

/** Follows an intent through the calls that were made for it: to what there is to say, or to the call to make next. */
function settle(intent: Intent, turn: Turn, canCall: (tool: string) => boolean): string | CallIntent {
  let next = intent
  for (let step = 0; step < mostSteps; step += 1) {
    if (next.type === 'say') return next.text
    if (!canCall(next.tool) || (next.leadsTo !== undefined && !canCall(next.leadsTo))) {
      if (!next.otherwise) return texts.toolMissing(next.purpose)
      next = next.otherwise
      continue
    }
    const call = madeCall(next, turn)
    if (!call) return next
    const answer = answerOf(next, turn.results.get(call.id))
    if (typeof answer === 'string') return answer
    next = answer
  }
  return texts.toolMissing('come to an end')
}

function callsToMake(settled: readonly (string | CallIntent)[], ids: Ids): ToolCallPart[] {
  const open = new Map<string, CallIntent>()
  for (const intent of settled) {
    if (typeof intent !== 'string') open.set(canonicalJson([intent.tool, intent.input]), intent)
  }
  return [...open.values()].map(({ tool, input }) => ({
    type: 'tool_call',
    // Without dashes it fits the shortest id that any provider takes when the session goes on with another model.
    id: `call_${ids.next().replaceAll('-', '')}`,
    name: tool,
    input,
  }))
}

function madeCall(intent: CallIntent, turn: Turn): ToolCallPart | undefined {
  const wanted = canonicalJson(intent.input)
  return turn.calls.find((call) => call.name === intent.tool && canonicalJson(call.input) === wanted)
}
