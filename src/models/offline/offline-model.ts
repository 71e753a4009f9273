import type { Ids } from '../../base/ids.ts'
import { canonicalJson } from '../../base/json.ts'
import type { ToolCallPart } from '../../protocol/message.ts'
import type { LanguageModel, ModelRequest, ModelResponse } from '../model.ts'
import { ModelError } from '../model-error.ts'
import type { CallIntent, Intent } from './ability.ts'
import { estimateUsage } from './estimate-usage.ts'
import { planReply } from './plan-reply.ts'
import { readTurn, type Turn } from './read-turn.ts'
import { splitDeltas } from './split-deltas.ts'
import { texts } from './texts.ts'
import { answerOf } from './tool-answer.ts'

const offlineModelId = 'offline/offline'

// One round of calls is all that any plan needs. The rest is for turns that another model began.
const mostRounds = 3

/**
 * What answers where no language model does. It is none, and says so: it reads the form of the newest message, calls
 * the same tools as every model, and tells what they answered.
 */
export function createOfflineModel({ ids }: { ids: Ids }): LanguageModel {
  return {
    info: {
      id: offlineModelId,
      maxTokens: 4_096,
      maxContextTokens: 1_000_000,
      supportsVision: false,
      offline: true,
      costPerMtok: [0, 0, 0, 0],
    },
    async *stream(request, signal) {
      stopIfAborted(signal)
      const response = respond(request, ids)
      for (const part of response.parts) {
        if (part.type !== 'text') continue
        for (const text of splitDeltas(part.text)) {
          stopIfAborted(signal)
          yield { type: 'text_delta', text }
        }
      }
      stopIfAborted(signal)
      yield { type: 'finished', response }
    },
  }
}

function respond(request: ModelRequest, ids: Ids): ModelResponse {
  const turn = readTurn(request.messages)
  const offered = new Set(request.tools.map((tool) => tool.name))
  const intents = planReply(turn)
  const calls = turn.rounds < mostRounds ? callsToMake(intents, turn, offered, ids) : []
  if (calls.length > 0) return { parts: calls, stopReason: 'tool_use', usage: estimateUsage(request, calls) }
  const text = intents.map((intent) => sayIntent(intent, turn, offered)).join('\n\n')
  const parts = [{ type: 'text' as const, text }]
  return { parts, stopReason: 'end', usage: estimateUsage(request, parts) }
}

function callsToMake(intents: readonly Intent[], turn: Turn, offered: Set<string>, ids: Ids): ToolCallPart[] {
  const open = new Map<string, CallIntent>()
  for (const intent of intents) {
    if (intent.type !== 'call' || !offered.has(intent.tool) || madeCall(intent, turn)) continue
    open.set(canonicalJson([intent.tool, intent.input]), intent)
  }
  return [...open.values()].map(({ tool, input }) => ({
    type: 'tool_call',
    // Without dashes it fits the shortest id that any provider takes when the session goes on with another model.
    id: `call_${ids.next().replaceAll('-', '')}`,
    name: tool,
    input,
  }))
}

function sayIntent(intent: Intent, turn: Turn, offered: Set<string>): string {
  if (intent.type === 'say') return intent.text
  const call = madeCall(intent, turn)
  if (!call && !offered.has(intent.tool)) return texts.toolMissing(intent.purpose)
  return answerOf(intent, call && turn.results.get(call.id))
}

function madeCall(intent: CallIntent, turn: Turn): ToolCallPart | undefined {
  const wanted = canonicalJson(intent.input)
  return turn.calls.find((call) => call.name === intent.tool && canonicalJson(call.input) === wanted)
}

function stopIfAborted(signal: AbortSignal): void {
  if (signal.aborted)
    throw new ModelError('aborted', 'The turn was stopped', { retryable: false, cause: signal.reason })
}
