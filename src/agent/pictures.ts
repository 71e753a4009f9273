import { estimateTokens } from '../base/tokens.ts'
import type { ImageModel, Pictures } from '../models/images.ts'
import { ModelError } from '../models/model.ts'
import type { Database } from '../storage/database.ts'
import type { DrawPictures } from '../tools/builtin/generate-image.ts'
import type { Ledger } from './ledger.ts'

/** Refusals that concern one provider, not the description. */
const refusedHere = new Set([401, 402, 403, 404])
/** The provider answered, or was never reached: nothing was made. */
const costsNothing = new Set<ModelError['code']>(['rejected', 'rate_limited', 'overloaded', 'unreachable', 'too_long'])

/** Has pictures made within the budgets, by the first of the configured models that can. */
export function createDrawPictures(dependencies: {
  database: Database
  ledger: Ledger
  images: () => readonly ImageModel[]
  redact(text: string): string
}): DrawPictures {
  const { database, ledger, images, redact } = dependencies

  async function drawWith(model: ImageModel, asked: Parameters<DrawPictures>[0]): ReturnType<DrawPictures> {
    const { userId, sessionId, turnId, signal } = asked
    const request = { prompt: redact(asked.prompt), count: asked.count, shape: asked.shape }
    const worstCase = model.worstCase(request)
    const inputTokens = estimateTokens(request.prompt)
    const work = { userId, sessionId, turnId, purpose: 'image', model: model.id, inputTokens }
    const reserved = await database.write((writer) => ledger.reserveAmount(writer, work, worstCase ?? 0))
    if (!reserved.ok) return { ok: false, kind: 'budget', message: reserved.message }
    let drawn: Pictures
    try {
      drawn = await model.draw(request, signal)
    } catch (cause) {
      const isFree = cause instanceof ModelError && costsNothing.has(cause.code)
      await (isFree ? ledger.release(reserved.id) : ledger.interruptAmount(reserved.id))
      if (!(cause instanceof ModelError)) throw cause
      const kind = cause.code === 'aborted' ? 'stopped' : cause.retryable ? 'unavailable' : 'refused'
      const isElsewhere = cause.retryable || refusedHere.has(cause.status ?? 0)
      return { ok: false, kind, message: redact(cause.message), ...(isElsewhere && { isElsewhere }) }
    }
    const cost = model.costOf(drawn)
    await database.write((writer) => ledger.settleAmount(writer, reserved, drawn.usage, cost))
    return { ok: true, model: model.id, pictures: drawn.pictures, nanousd: cost }
  }

  return async (asked) => {
    const models = images()
    for (const [at, model] of models.entries()) {
      const result = await drawWith(model, asked)
      if (result.ok || !result.isElsewhere || at === models.length - 1) return result
    }
    return {
      ok: false,
      kind: 'unconfigured',
      message:
        'No image model is configured. The user can add one: a model in a provider file, and in familiar.toml [routes] image = "provider/model" (docs/models.md).',
    }
  }
}
