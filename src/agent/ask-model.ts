import type { Clock } from '../base/clock.ts'
import { estimateTokens } from '../base/tokens.ts'
import type { Ledger } from '../cost/ledger.ts'
import type { AskModel } from '../memory/learning/ask-model.ts'
import type { Models } from '../models/models.ts'
import { textOf } from '../sessions/projection.ts'
import type { Database } from '../storage/database.ts'
import { type CallPlan, callModel, reserveCall } from './call-model.ts'

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
    const route = modelsOf(userId)
      .route('fast')
      .filter((model) => !model.info.offline)
    if (route.length === 0) return { ok: false, reason: 'no_model', message: 'No language model is configured' }
    if (signal.aborted) return { ok: false, reason: 'aborted', message: 'Stopped.' }
    const plan: CallPlan = {
      models: route,
      inputTokens: estimateTokens(system) + estimateTokens(text),
      userId,
      // Filed under no session: the compaction of one closes whatever is reserved there outside a turn, as left over.
      sessionId: null,
      turnId: null,
      purpose,
    }
    const result = await callModel(dependencies, {
      ...plan,
      reservation: await database.write((writer) => reserveCall(ledger, writer, plan)),
      request: {
        system: [{ name: purpose, tier: 'stable', text: system }],
        messages: [{ role: 'user', parts: [{ type: 'text', text }] }],
        tools: [],
        loadMedia: () => Promise.reject(new Error('Such a question carries no media')),
      },
      signal,
    })
    if (!result.ok) {
      const reason = result.reason === 'budget' || result.reason === 'aborted' ? result.reason : 'failed'
      return { ok: false, reason, message: result.message }
    }
    const { response, model, reserved } = result
    await database.write((writer) => ledger.settle(writer, reserved, response.usage, model.info.costPerMtok))
    if (response.stopReason !== 'end') {
      return { ok: false, reason: 'failed', message: `The answer ended with ${response.stopReason}` }
    }
    return { ok: true, text: textOf(response.parts) }
  }
}
