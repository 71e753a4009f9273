import type { AssistantPart } from '../protocol/message.ts'
import { redactBytes } from '../secrets/redact-bytes.ts'
import { redactJson } from '../secrets/redact-json.ts'
import type { Redactor } from '../secrets/redactor.ts'
import { createStreamRedactor } from '../secrets/stream-redactor.ts'
import type { LanguageModel, ModelRequest, ModelResponse, ModelStreamEvent } from './model.ts'
import { ModelError } from './model-error.ts'
import type { Models } from './models.ts'
import { wrapModels } from './wrap-models.ts'

/**
 * The same models, none of which is ever sent a secret; and what they say is without secrets before anybody has seen it,
 * piece by piece as it comes (SEC-13).
 */
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

type Delta = Exclude<ModelStreamEvent, { type: 'finished' }>

/** Deltas without secrets. What is held back of one kind is told before the first of the other, in the order it came. */
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
    // A provider refuses a text that is not the one it signed; without the signature it is not sent back.
    if (redacted === part || part.type === 'tool_call' || !part.replay) return redacted
    const { replay: _, ...unsigned } = redacted
    return unsigned as AssistantPart
  })
  return { ...response, parts }
}

/** Providers quote the key that they refuse. */
function redactError(redactor: Redactor, cause: unknown): unknown {
  if (!(cause instanceof ModelError)) return cause
  const message = redactor.redact(cause.message)
  const { code, retryable, status, retryAfterMs } = cause
  return message === cause.message ? cause : new ModelError(code, message, { retryable, status, retryAfterMs })
}
