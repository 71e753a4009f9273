import type { z } from 'zod'
import type { Json } from '../protocol/json.ts'

export type Parsed<T> = { ok: true; value: T } | { ok: false; message: string }

/** Foreign text to a value of the schema. Never throws. */
export function parseJson<T>(text: string, schema: z.ZodType<T>): Parsed<T> {
  const raw = parseAnyJson(text)
  if (!raw.ok) return raw
  const checked = schema.safeParse(raw.value)
  if (checked.success) return { ok: true, value: checked.data }
  const issue = checked.error.issues[0]
  const path = issue?.path.join('.') || 'value'
  return { ok: false, message: `${path}: ${issue?.message ?? 'does not fit'}` }
}

/** Foreign text to whatever JSON it holds. Never throws. */
export function parseAnyJson(text: string): Parsed<Json> {
  try {
    return { ok: true, value: JSON.parse(text) as Json }
  } catch (cause) {
    return { ok: false, message: cause instanceof Error ? cause.message : 'not JSON' }
  }
}

/** The same text for the same value, whatever the order of its keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner) =>
    inner && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}
