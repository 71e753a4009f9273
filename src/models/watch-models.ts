import { costNanousd } from '../base/money.ts'
import { errorType } from '../base/telemetry/metrics.ts'
import type { Telemetry } from '../base/telemetry/telemetry.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { AssistantPart } from '../protocol/messages.ts'
import { createStreamRedactor, type Redactor, redactBytes, redactJson } from '../security/redactor.ts'
import {
  type LanguageModel,
  ModelError,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamEvent,
  type Models,
  type Purpose,
} from './model.ts'

/** The same models, with the duration and usage of each call recorded. Content is not read. */
export function watchModels(models: Models, telemetry: Telemetry): Models {
  return wrapModels(models, (model) => watchModel(model, telemetry))
}

/** The provider names of the conventions, if they differ from ours. */
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
            // The consumer's own time is not the model's.
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

const offlineId = 'offline/offline'

/**
 * The models of one user (CLIENT-4): others cannot be found, not even by name. If none of them is available, the
 * offline one answers, not a more expensive one.
 */
export function modelsOfUser(
  models: Models,
  own: {
    /** Ids in order of preference; undefined: the default route. */
    route(purpose: Purpose): readonly string[] | undefined
    allows(modelId: string): boolean
  },
): Models {
  const byIds = (ids: readonly string[]) => ids.map(models.byId).filter((model) => model !== undefined)
  return {
    route(purpose, source) {
      const ids = own.route(purpose)
      if (!ids) return models.route(purpose, source)
      const [known, offline] = [byIds(ids), byIds([offlineId])]
      if (known.length === 0 && offline.length === 0) {
        throw new FamiliarError('forbidden', 'None of the models in your plan is available')
      }
      return known.length > 0 ? known : offline
    },
    byId: (id) => (own.allows(id) ? models.byId(id) : undefined),
    list: () => models.list().filter(({ info }) => own.allows(info.id)),
  }
}

function wrapModels(models: Models, wrap: (model: LanguageModel) => LanguageModel): Models {
  const known = new WeakMap<LanguageModel, LanguageModel>()
  function wrapped(model: LanguageModel): LanguageModel {
    const made = known.get(model) ?? wrap(model)
    known.set(model, made)
    return made
  }
  return {
    route: (purpose, source) => models.route(purpose, source).map(wrapped),
    byId(id) {
      const model = models.byId(id)
      return model && wrapped(model)
    },
    list: () => models.list().map(wrapped),
  }
}

/** The same models, which are never sent a secret; their output is redacted piece by piece as it arrives (SEC-13). */
export function redactModels(models: Models, redactor: Redactor): Models {
  return wrapModels(models, (model) => redactModel(model, redactor))
}

function redactModel(model: LanguageModel, redactor: Redactor): LanguageModel {
  return {
    info: model.info,
    async *stream(request, signal): AsyncGenerator<ModelStreamEvent> {
      const deltas = createDeltas(redactor)
      try {
        for await (const event of model.stream(redactRequest(redactor, request), signal)) {
          if (event.type === 'finished') {
            yield* deltas.end()
            yield { type: 'finished', response: redactResponse(redactor, event.response) }
          } else if (event.type === 'restart') {
            yield* deltas.end()
            yield event
          } else {
            yield* deltas.push(event)
            request.onActivity?.()
          }
        }
      } catch (cause) {
        yield* deltas.end()
        throw redactError(redactor, cause)
      }
    },
  }
}

type Delta = Extract<ModelStreamEvent, { type: 'text_delta' | 'thinking_delta' }>

/** Deltas without secrets. Held-back text of one kind is output before the first of the other, in order. */
function createDeltas(redactor: Redactor) {
  const stream = createStreamRedactor(redactor)
  let type: Delta['type'] | undefined

  function* end(): Generator<Delta> {
    const text = stream.end()
    if (type && text) yield { type, text }
  }

  return {
    *push(delta: Delta): Generator<Delta> {
      if (delta.type !== type) yield* end()
      type = delta.type
      const text = stream.push(delta.text)
      if (text) yield { type, text }
    },
    end,
  }
}

function redactRequest(redactor: Redactor, request: ModelRequest): ModelRequest {
  const { system, messages, tools, loadMedia } = request
  return {
    ...request,
    ...redactJson(redactor, { system, messages, tools }),
    loadMedia: async (hash) => redactBytes(redactor, await loadMedia(hash)),
  }
}

function redactResponse(redactor: Redactor, response: ModelResponse): ModelResponse {
  const parts = response.parts.map((part): AssistantPart => {
    const redacted = redactJson(redactor, part)
    // A provider rejects text that differs from what it signed; without the signature it is not sent back.
    if (redacted === part || part.type === 'tool_call' || !part.replay) return redacted
    const { replay: _, ...unsigned } = redacted
    return unsigned as AssistantPart
  })
  const { notice } = response
  return { ...response, parts, ...(notice !== undefined && { notice: redactor.redact(notice) }) }
}

/** Providers quote the key that they reject. */
function redactError(redactor: Redactor, cause: unknown): unknown {
  if (!(cause instanceof ModelError)) return cause
  const message = redactor.redact(cause.message)
  const { code, retryable, status, retryAfterMs } = cause
  return message === cause.message ? cause : new ModelError(code, message, { retryable, status, retryAfterMs })
}
