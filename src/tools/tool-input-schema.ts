import { z } from 'zod'
import type { Json } from '../protocol/json.ts'

type JsonObject = { [key: string]: Json }

// Bounds that zod writes for every integer. They tell a model nothing and cost tokens in every request.
const safeIntegers = [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]

/** The JSON Schema of a tool's arguments, without what no model needs. `strict` closes every object in it. */
export function toolInputSchema(schema: z.ZodObject, { strict }: { strict: boolean }): JsonObject {
  const { $schema: _, ...described } = z.toJSONSchema(schema, { io: 'input' }) as JsonObject
  return trim(described, strict)
}

function trim(schema: JsonObject, strict: boolean): JsonObject {
  const trimmed: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    if (isNoise(key, value)) continue
    if (key === 'properties' || key === '$defs') {
      const named = Object.entries(value as JsonObject)
      trimmed[key] = Object.fromEntries(named.map(([name, inner]) => [name, trimInner(inner, strict)]))
    } else trimmed[key] = trimInner(value, strict)
  }
  if (strict && trimmed.type === 'object') trimmed.additionalProperties = false
  return trimmed
}

function trimInner(value: Json, strict: boolean): Json {
  if (Array.isArray(value)) return value.map((inner) => trimInner(inner, strict))
  return value !== null && typeof value === 'object' ? trim(value, strict) : value
}

function isNoise(key: string, value: Json): boolean {
  if (key === 'minLength') return value === 1
  if (key === 'minimum' || key === 'maximum') return safeIntegers.includes(value as number)
  return key === 'additionalProperties' && typeof value === 'boolean'
}
