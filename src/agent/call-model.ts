import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { parseAnyJson } from '../base/json.ts'
import type { CostRates } from '../base/money.ts'
import { toStorableText } from '../base/text.ts'
import { estimateTokens } from '../base/tokens.ts'
import type { AskModel } from '../memory/learning/ask-model.ts'
import { type LanguageModel, ModelError, type ModelRequest, type ModelResponse, type Models } from '../models/model.ts'
import { streamWithRetries } from '../models/retry.ts'
import type { AssistantPart } from '../protocol/messages.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { Ledger, Reservation, Reserved } from './ledger.ts'
import { type Projection, textOf } from './sessions/projection.ts'

export interface CallPlan {
  /** The model to ask and its fallbacks. */
  models: readonly LanguageModel[]
  inputTokens: number
  userId: string
  sessionId: string | null
  turnId: string | null
  purpose: string
}

interface ModelCall extends CallPlan {
  /** From `reserveCall`: nothing is asked that is not paid for. */
  reservation: Reservation
  request: Omit<ModelRequest, 'maxTokens'>
  signal: AbortSignal
  onDelta?(kind: 'text' | 'thinking', text: string): void
  /** The attempt failed and is made again; what it had streamed is void. */
  onRetry?(retry: { attempt: number; reason: string; waitMs: number; model: string; isQuiet?: true }): Promise<void>
}

export type ModelCallResult =
  | { ok: true; model: LanguageModel; response: ModelResponse; reserved: Reserved }
  | {
      ok: false
      reason: 'budget' | 'aborted' | 'provider' | 'timeout' | 'too_long'
      message: string
      partialText: string
    }

/** Sets aside what the call may cost at most, with whichever of its models answers. */
export function reserveCall(ledger: Ledger, writer: Writer, plan: CallPlan): Promise<Reservation> {
  const { models, ...call } = plan
  return ledger.reserve(writer, {
    ...call,
    model: models[0]?.info.id ?? 'none',
    rates: dearestRates(models),
    maxOutputTokens: largestOutput(models),
  })
}

/**
 * The only way to call a language model: within the budgets, with retries, and with every outcome in the ledger. A
 * response that arrived stays reserved until the caller settles it in the unit that records it.
 */
export async function callModel(
  dependencies: { ledger: Ledger; clock: Clock; random: () => number },
  call: ModelCall,
): Promise<ModelCallResult> {
  const { ledger, clock, random } = dependencies
  const { reservation } = call
  if (!reservation.ok) return { ok: false, reason: 'budget', message: reservation.message, partialText: '' }

  let text = ''
  let thinking = ''
  try {
    const request = { ...call.request, maxTokens: largestOutput(call.models) }
    const stream = streamWithRetries({ models: call.models, request, signal: call.signal, clock, random })
    for await (const event of stream) {
      switch (event.type) {
        case 'text_delta':
          text += event.text
          call.onDelta?.('text', event.text)
          break
        case 'thinking_delta':
          thinking += event.text
          call.onDelta?.('thinking', event.text)
          break
        case 'retry':
        case 'restart': {
          text = ''
          thinking = ''
          const model = call.models[0]?.info.id ?? 'none'
          const restart = {
            attempt: 0,
            reason: 'The text so far was thinking',
            waitMs: 0,
            model,
            isQuiet: true,
          } as const
          await call.onRetry?.(event.type === 'retry' ? event : restart)
          break
        }
        case 'finished': {
          const { model } = event
          const made = asksForTools(storable(event.response))
          const response = model.info.offline ? made : withUsage(made, call.inputTokens)
          return { ok: true, model, response, reserved: reservation }
        }
        default:
          event satisfies never
      }
    }
    throw new ModelError('cut', 'The stream ended without a response', { retryable: true })
  } catch (cause) {
    if (text || thinking) {
      await ledger.interrupt(reservation.id, estimateTokens(text + thinking), dearestRates(call.models))
    } else await ledger.release(reservation.id)
    if (call.signal.aborted) return { ok: false, reason: 'aborted', message: 'Stopped.', partialText: text }
    if (!(cause instanceof ModelError)) throw cause
    return {
      ok: false,
      reason: cause.code === 'timeout' || cause.code === 'too_long' ? cause.code : 'provider',
      message: cause.message,
      partialText: text,
    }
  }
}

function largestOutput(models: readonly LanguageModel[]): number {
  return Math.max(0, ...models.map((model) => model.info.maxTokens))
}

function dearestRates(models: readonly LanguageModel[]): CostRates | null {
  const priced = models.map(({ info }) => info.costPerMtok).filter((rates) => rates !== null)
  const most = (kind: 0 | 1 | 2 | 3) => Math.max(...priced.map((rates) => rates[kind]))
  return priced.length === 0 ? null : [most(0), most(1), most(2), most(3)]
}

/** Calls are made whatever the stop reason: many servers send `stop` with calls (LOOP-3). */
function asksForTools(response: ModelResponse): ModelResponse {
  const hasCalls = response.parts.some((part) => part.type === 'tool_call')
  const isOver = response.stopReason === 'end' || response.stopReason === 'other'
  return hasCalls && isOver ? { ...response, stopReason: 'tool_use' } : response
}

/** A provider that counts nothing is not free: its tokens are estimated, so that budgets hold, and marked (COST-1). */
function withUsage(response: ModelResponse, inputTokens: number): ModelResponse {
  const { usage, parts } = response
  if (usage.inputTokens > 0 || usage.outputTokens > 0) return response
  const said = parts.map((part) =>
    part.type === 'tool_call' ? `${part.name}${JSON.stringify(part.input)}` : part.text,
  )
  const outputTokens = estimateTokens(said.join('\n'))
  return { ...response, usage: { ...usage, inputTokens, outputTokens, isEstimate: true } }
}

/** Text of a provider as every store and every later request takes it; replay data stays as it came. */
function storable(response: ModelResponse): ModelResponse {
  const parts = response.parts.map((part): AssistantPart => {
    if (part.type !== 'tool_call') return { ...part, text: toStorableText(part.text) }
    // Arguments as the log will store them: the approved call is the one that runs, before and after a restart.
    const written = parseAnyJson(JSON.stringify(part.input) ?? 'null')
    return { ...part, name: toStorableText(part.name), input: written.ok ? written.value : null }
  })
  return { ...response, parts }
}

/**
 * Some servers restart the numbers of their calls with every response; within a conversation an id must identify one
 * call.
 */
export function withUniqueCallIds(parts: readonly AssistantPart[], projection: Projection, ids: Ids): AssistantPart[] {
  const used = new Set<string>()
  return parts.map((part) => {
    if (part.type !== 'tool_call') return part
    const taken = !part.id || used.has(part.id) || projection.results[part.id] !== undefined
    const id = taken ? `call_${ids.next()}` : part.id
    used.add(id)
    return { ...part, id }
  })
}

/** One question outside a turn: without a conversation, tools or media. */
export async function askOnce(
  dependencies: { database: Database; ledger: Ledger; clock: Clock; random: () => number },
  asked: Pick<CallPlan, 'models' | 'userId' | 'sessionId' | 'purpose'> & {
    system: string
    text: string
    signal: AbortSignal
  },
): Promise<ModelCallResult> {
  const { database, ledger } = dependencies
  const { system, text, signal, ...call } = asked
  const plan = { ...call, turnId: null, inputTokens: estimateTokens(system) + estimateTokens(text) }
  return callModel(dependencies, {
    ...plan,
    reservation: await database.write((writer) => reserveCall(ledger, writer, plan)),
    request: {
      system: [{ name: call.purpose, layer: 'stable', text: system }],
      messages: [{ role: 'user', parts: [{ type: 'text', text }] }],
      tools: [],
      loadMedia: () => Promise.reject(new Error('A background request cannot contain media')),
    },
    signal,
  })
}

/** Single questions to the models of the route `fast`. The offline one cannot answer any: it is left out. */
export function createAskModel(dependencies: {
  database: Database
  ledger: Ledger
  /** As the user has them (CLIENT-4). */
  modelsOf: (userId: string) => Models
  clock: Clock
  random: () => number
}): AskModel {
  const { database, ledger, modelsOf } = dependencies

  return async ({ userId, purpose, system, text, signal }) => {
    const models = modelsOf(userId)
      .route('fast')
      .filter((model) => !model.info.offline)
    if (models.length === 0) return { ok: false, reason: 'no_model', message: 'No language model is configured' }
    if (signal.aborted) return { ok: false, reason: 'aborted', message: 'Stopped.' }
    // Not filed under the session: its compaction would release reservations outside a turn as leftovers.
    const asked = { models, userId, sessionId: null, purpose, system, text, signal }
    const result = await askOnce(dependencies, asked)
    if (!result.ok) {
      const reason = result.reason === 'budget' || result.reason === 'aborted' ? result.reason : 'failed'
      return { ok: false, reason, message: result.message }
    }
    const { response, model, reserved } = result
    await database.write((writer) => ledger.settle(writer, reserved, response.usage, model.info.costPerMtok))
    if (response.stopReason !== 'end') {
      return { ok: false, reason: 'failed', message: `The response ended with ${response.stopReason}` }
    }
    return { ok: true, text: textOf(response.parts) }
  }
}
