import type { Clock } from '../base/clock.ts'
import { toStorableText } from '../base/text.ts'
import { estimateTokens } from '../base/tokens.ts'
import type { Ledger } from '../cost/ledger.ts'
import type { LanguageModel, ModelRequest, ModelResponse } from '../models/model.ts'
import { ModelError } from '../models/model-error.ts'
import { streamWithRetries } from '../models/retry.ts'
import type { AssistantPart } from '../protocol/message.ts'

export interface ModelCall {
  /** The model to ask and its fallbacks. */
  models: readonly LanguageModel[]
  request: Omit<ModelRequest, 'maxTokens'>
  inputTokens: number
  userId: string
  sessionId: string | null
  turnId: string | null
  purpose: string
  signal: AbortSignal
  onReserved?(): void
  onDelta?(kind: 'text' | 'thinking', text: string): void
  /** The attempt failed and is made again; what it had streamed is void. */
  onRetry?(retry: { attempt: number; reason: string; waitMs: number; model: string }): Promise<void>
}

export type ModelCallResult =
  | { ok: true; model: LanguageModel; response: ModelResponse; reservationId: string }
  | { ok: false; reason: 'budget' | 'aborted' | 'failed'; message: string; partialText: string }

/**
 * The one way to a language model: under the caps, retried, with every outcome in the ledger. A response that came
 * stays reserved until the caller settles it in the unit that records it.
 */
export async function callModel(
  dependencies: { ledger: Ledger; clock: Clock; random: () => number },
  call: ModelCall,
): Promise<ModelCallResult> {
  const { ledger, clock, random } = dependencies
  const first = call.models[0]
  if (!first) return { ok: false, reason: 'failed', message: 'No model is configured.', partialText: '' }
  const rates = dearestRates(call.models)
  const maxTokens = Math.max(...call.models.map((model) => model.info.maxTokens))
  const reservation = await ledger.reserve({
    userId: call.userId,
    sessionId: call.sessionId,
    turnId: call.turnId,
    purpose: call.purpose,
    model: first.info.id,
    rates,
    inputTokens: call.inputTokens,
    maxOutputTokens: maxTokens,
  })
  if (!reservation.ok) return { ok: false, reason: 'budget', message: reservation.message, partialText: '' }
  call.onReserved?.()

  let text = ''
  let thinking = ''
  try {
    const request = { ...call.request, maxTokens }
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
          return { ok: true, model: event.model, response: storable(event.response), reservationId: reservation.id }
        default:
          event satisfies never
      }
    }
    throw new ModelError('cut', 'The stream ended without a response', { retryable: true })
  } catch (cause) {
    if (text || thinking) {
      await ledger.interrupt(reservation.id, estimateTokens(text + thinking), rates)
    } else await ledger.release(reservation.id)
    if (call.signal.aborted) return { ok: false, reason: 'aborted', message: 'Stopped.', partialText: text }
    if (!(cause instanceof ModelError)) throw cause
    return { ok: false, reason: 'failed', message: cause.message, partialText: text }
  }
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
    if (part.type === 'tool_call') return { ...part, name: toStorableText(part.name) }
    return { ...part, text: toStorableText(part.text) }
  })
  return { ...response, parts }
}
