import type { IncomingHttpHeaders } from 'node:http'
import type { JsonObject } from './json.ts'

const RELEASED = '2025-01-01T00:00:00Z'

/** `GET /v1/models` is one path with two answers: Anthropic's clients are known by their version header. */
export function listModels(options: {
  path: string
  headers: IncomingHttpHeaders
  models: string[]
}): JsonObject | undefined {
  const { path, headers, models } = options
  switch (path) {
    case '/v1/models':
      return headers['anthropic-version'] ? anthropicListing(models) : openaiListing(models)
    case '/api/tags':
      return ollamaListing(models)
    default:
      return undefined
  }
}

function openaiListing(models: string[]): JsonObject {
  const created = Date.parse(RELEASED) / 1000
  return { object: 'list', data: models.map((id) => ({ id, object: 'model', created, owned_by: 'fake' })) }
}

function anthropicListing(models: string[]): JsonObject {
  return {
    data: models.map((id) => ({ type: 'model', id, display_name: id, created_at: RELEASED })),
    has_more: false,
    first_id: models[0] ?? null,
    last_id: models.at(-1) ?? null,
  }
}

function ollamaListing(models: string[]): JsonObject {
  return {
    models: models.map((name) => ({
      name,
      model: name,
      modified_at: RELEASED,
      size: 1_000_000,
      digest: '0'.repeat(64),
      details: { format: 'gguf', family: 'fake', families: ['fake'], parameter_size: '1B', quantization_level: 'Q4_0' },
    })),
  }
}
