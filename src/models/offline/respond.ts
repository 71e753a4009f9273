import type { Ids } from '../../base/ids.ts'
import { canonicalJson } from '../../base/json.ts'
import { estimateTokens } from '../../base/tokens.ts'
import type { AssistantPart, ModelMessage, ToolCallPart, ToolResult, Usage } from '../../protocol/messages.ts'
import type { ModelRequest, ModelResponse } from '../model.ts'
import { withoutWrapping } from './notes.ts'
import { planReply } from './plan-reply.ts'
import { readTurn, type Turn } from './read-turn.ts'
import type { CallIntent, Intent } from './sentence.ts'
import { type Texts, textsOf } from './texts.ts'

// Finding and then changing takes two rounds. The rest is for turns that another model started.
const maxRounds = 4
const maxSteps = 6

/** The response to the newest message, by its form: the next calls, or the reply. */
export function respond(
  request: ModelRequest,
  { ids, setup = 'familiar setup' }: { ids: Ids; setup?: string | undefined },
): ModelResponse {
  const turn = readTurn(request.messages)
  const offered = new Set(request.tools.map((tool) => tool.name))
  // With `find_tools`, everything that it would find can be called by name.
  const canCall = (tool: string) => offered.has(tool) || offered.has('find_tools')
  const texts = textsOf(turn.before.language)
  const settled = planReply(turn).map((intent) => settle(intent, { turn, texts, canCall }))
  const calls = turn.rounds < maxRounds ? callsToMake(settled, ids) : []
  if (calls.length > 0) return { parts: calls, stopReason: 'tool_use', usage: estimateUsage(request, calls) }
  const text = settled
    .map((said) => (typeof said === 'string' ? said : texts.outcomeUnknown(said.purpose)))
    .join('\n\n')
    .replaceAll('`familiar setup`', () => `\`${setup}\``)
  const parts = [{ type: 'text' as const, text }]
  return { parts, stopReason: 'end', usage: estimateUsage(request, parts) }
}

/** Follows an intent through the calls made for it, to the reply or the next call. */
function settle(
  intent: Intent,
  { turn, texts, canCall }: { turn: Turn; texts: Texts; canCall: (tool: string) => boolean },
): string | CallIntent {
  let next = intent
  for (let step = 0; step < maxSteps; step += 1) {
    if (next.type === 'say') return typeof next.text === 'string' ? next.text : next.text(texts)
    if (!canCall(next.tool) || (next.leadsTo !== undefined && !canCall(next.leadsTo))) {
      if (!next.otherwise) return texts.toolMissing(next.purpose)
      next = next.otherwise
      continue
    }
    const { tool, input } = next
    const wanted = canonicalJson(input)
    const call = turn.calls.find((made) => made.name === tool && canonicalJson(made.input) === wanted)
    if (!call) return next
    const answer = answerOf(next, turn.results.get(call.id), texts)
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
    // Without dashes it fits the shortest id limit of any provider that continues the session.
    id: `call_${ids.next().replaceAll('-', '')}`,
    name: tool,
    input,
  }))
}

/** An estimate of a language model's usage, so that ledgers and windows show the size of a conversation. */
function estimateUsage(request: ModelRequest, parts: readonly AssistantPart[]): Usage {
  const input = [
    ...request.system.map((block) => block.text),
    ...request.messages.flatMap(textsIn),
    ...request.tools.map((tool) => JSON.stringify(tool)),
  ]
  const sum = (texts: readonly string[]) => texts.reduce((total, text) => total + estimateTokens(text), 0)
  return { inputTokens: sum(input), outputTokens: sum(parts.map(textOfPart)), cacheReadTokens: 0, cacheWriteTokens: 0 }
}

function textsIn(message: ModelMessage): string[] {
  switch (message.role) {
    case 'user':
      return message.parts.map((part) => (part.type === 'text' ? part.text : part.name))
    case 'assistant':
      return message.parts.map(textOfPart)
    case 'tool':
      return message.results.map((result) => result.text)
  }
}

function textOfPart(part: AssistantPart): string {
  return part.type === 'tool_call' ? `${part.name} ${JSON.stringify(part.input)}` : part.text
}

/** The consequence of a call: a reply, or another intent. A missing result means an unknown outcome. */
function answerOf(intent: CallIntent, result: ToolResult | undefined, texts: Texts): string | Intent {
  const isUnknown = result?.isError && result.text.toLowerCase().includes('outcome unknown')
  if (!result || isUnknown) return texts.outcomeUnknown(intent.purpose)
  if (!result.isError) return intent.answer(result, texts)
  const reason = withoutWrapping(result)
  const instead = reason.startsWith('There is no tool named') ? intent.otherwise : intent.ifRefused
  return instead ?? texts.toolFailed(intent.purpose, reason || 'no reason was given.')
}
