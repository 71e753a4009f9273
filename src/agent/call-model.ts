import type { Clock } from '../base/clock.ts'
import { parseAnyJson } from '../base/json.ts'
import { toStorableText } from '../base/text.ts'
import { estimateTokens } from '../base/tokens.ts'
import type { Ledger, Reservation, Reserved } from '../cost/ledger.ts'
import type { LanguageModel, ModelRequest, ModelResponse } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import { streamWithRetries } from '../models/retry.ts'
import type { Json } from '../protocol/json.ts'
import type { AssistantPart } from '../protocol/message.ts'
import type { Writer } from '../storage/database.ts'

export interface CallPlan {
  /** The model to ask and its fallbacks. */
  models: readonly LanguageModel[]
  inputTokens: number
  userId: string
  sessionId: string | null
  turnId: string | null
  purpose: string
}

export interface ModelCall extends CallPlan {
  /** From `reserveCall`: nothing is asked that is not paid for. */
  reservation: Reservation
  request: Omit<ModelRequest, 'maxTokens'>
  signal: AbortSignal
  onDelta?(kind: 'text' | 'thinking', text: string): void
  /** The attempt failed and is made again; what it had streamed is void. */
  onRetry?(retry: { attempt: number; reason: string; waitMs: number; model: string }): Promise<void>
}

export type ModelCallResult =
  | { ok: true; model: LanguageModel; response: ModelResponse; reserved: Reserved }
  | { ok: false; reason: 'budget' | 'aborted' | 'provider' | 'timeout'; message: string; partialText: string }

/** Sets aside what the call may cost at most, with whichever of its models answers. */
export function reserveCall(ledger: Ledger, writer: Writer, plan: CallPlan): Promise<Reservation> {
  return ledger.reserve(writer, {
    userId: plan.userId,
    sessionId: plan.sessionId,
    turnId: plan.turnId,
    purpose: plan.purpose,
    model: plan.models[0]?.info.id ?? 'none',
    rates: dearestRates(plan.models),
    inputTokens: plan.inputTokens,
    maxOutputTokens: mostTokens(plan.models),
  })
}

/**
 * The one way to a language model: under the caps, retried, with every outcome in the ledger. A response that came
 * stays reserved until the caller settles it in the unit that records it.
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
    const request = { ...call.request, maxTokens: mostTokens(call.models) }
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
          text = ''
          thinking = ''
          await call.onRetry?.(event)
          break
        case 'finished':
          return { ok: true, model: event.model, response: storable(event.response), reserved: reservation }
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
      reason: cause.code === 'timeout' ? 'timeout' : 'provider',
      message: cause.message,
      partialText: text,
    }
  }
}

function mostTokens(models: readonly LanguageModel[]): number {
  return Math.max(0, ...models.map((model) => model.info.maxTokens))
}

function dearestRates(models: readonly LanguageModel[]) {
  const priced = models.flatMap((model) => (model.info.costPerMtok ? [model.info.costPerMtok] : []))
  return priced.reduce<(typeof priced)[number] | null>((dearest, rates) => {
    if (!dearest) return rates
    return [
      Math.max(dearest[0], rates[0]),
      Math.max(dearest[1], rates[1]),
      Math.max(dearest[2], rates[2]),
      Math.max(dearest[3], rates[3]),
    ]
  }, null)
}

/** Text of a provider as every store and every later request takes it; replay data stays as it came. */
function storable(response: ModelResponse): ModelResponse {
  const parts = response.parts.map((part): AssistantPart => {
    // Arguments as the log will hold them: what is judged and approved is what runs, before a restart and after.
    if (part.type === 'tool_call') return { ...part, name: toStorableText(part.name), input: toJson(part.input) }
    return { ...part, text: toStorableText(part.text) }
  })
  return { ...response, parts }
}

function toJson(value: Json): Json {
  const written = parseAnyJson(JSON.stringify(value) ?? 'null')
  return written.ok ? written.value : null
}
