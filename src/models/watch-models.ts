import { costNanousd } from '../cost/money.ts'
import { errorType } from '../monitor/telemetry/attributes.ts'
import type { Telemetry } from '../monitor/telemetry/telemetry.ts'
import type { LanguageModel, ModelResponse, ModelStreamEvent } from './model.ts'
import type { Models } from './models.ts'
import { wrapModels } from './wrap-models.ts'

/** The same models, with how long each call takes and what it uses. Nothing of what is asked or answered is looked at. */
export function watchModels(models: Models, telemetry: Telemetry): Models {
  return wrapModels(models, (model) => watchModel(model, telemetry))
}

/** Providers as the conventions name them, where their usual name here is another. */
const providerNames: Readonly<Record<string, string>> = {
  google: 'gcp.gemini',
  mistral: 'mistral_ai',
  xai: 'x_ai',
  moonshot: 'moonshot_ai',
}

function watchModel(model: LanguageModel, telemetry: Telemetry): LanguageModel {
  const [provider = '', ...rest] = model.info.id.split('/')
  const name = rest.join('/')
  const who = {
    'gen_ai.provider.name': Object.hasOwn(providerNames, provider) ? (providerNames[provider] ?? provider) : provider,
    'gen_ai.request.model': name,
  }
  const labels = { 'gen_ai.operation.name': 'chat', ...who }

  function countUsage({ usage }: ModelResponse): void {
    telemetry.record('gen_ai.client.token.usage', { ...labels, 'gen_ai.token.type': 'input' }, usage.inputTokens)
    telemetry.record('gen_ai.client.token.usage', { ...labels, 'gen_ai.token.type': 'output' }, usage.outputTokens)
    telemetry.add('familiar.cost.usd', who, (costNanousd(usage, model.info.costPerMtok) ?? 0) / 1e9)
  }

  return {
    info: model.info,
    async *stream(request, signal): AsyncGenerator<ModelStreamEvent> {
      const startedAt = performance.now()
      const span = telemetry.startSpan({
        operation: 'chat',
        target: name,
        kind: 'client',
        attributes: { ...labels, 'gen_ai.request.max_tokens': request.maxTokens },
      })
      let failure: string | undefined = 'aborted'
      let hasBegun = false
      try {
        for await (const event of model.stream(request, signal)) {
          if (!hasBegun) {
            hasBegun = true
            const seconds = (performance.now() - startedAt) / 1_000
            telemetry.record('gen_ai.client.operation.time_to_first_chunk', labels, seconds)
          }
          if (event.type === 'finished') {
            failure = undefined
            countUsage(event.response)
            span.set(usageOf(event.response))
            // Whoever reads this may take its time, which is not the model's.
            span.end()
          }
          yield event
        }
      } catch (cause) {
        failure = errorType(cause)
        throw cause
      } finally {
        if (failure !== undefined) span.fail(failure)
        span.end()
        const failed = failure === undefined ? {} : { 'error.type': failure }
        const seconds = (performance.now() - startedAt) / 1_000
        telemetry.record('gen_ai.client.operation.duration', { ...labels, ...failed }, seconds)
      }
    },
  }
}

function usageOf({ usage }: ModelResponse) {
  return {
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.usage.cache_read.input_tokens': usage.cacheReadTokens,
    'gen_ai.usage.cache_creation.input_tokens': usage.cacheWriteTokens,
  }
}
