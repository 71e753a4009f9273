import type { z } from 'zod'
import type { Json } from '../protocol/messages.ts'
import { type SnakeKeys, wireName } from '../protocol/operation.ts'

export type Parsed<T> = { ok: true; value: T } | { ok: false; message: string }

/** Parses untrusted text by a schema. Never throws. */
export function parseJson<T>(text: string, schema: z.ZodType<T>): Parsed<T> {
  const raw = parseAnyJson(text)
  if (!raw.ok) return raw
  const checked = schema.safeParse(raw.value)
  if (checked.success) return { ok: true, value: checked.data }
  const issue = checked.error.issues[0]
  const path = issue?.path.join('.') || 'value'
  return { ok: false, message: `${path}: ${issue?.message ?? 'is not valid'}` }
}

/** Parses untrusted text as any JSON. Never throws. */
export function parseAnyJson(text: string): Parsed<Json> {
  try {
    return { ok: true, value: JSON.parse(text) as Json }
  } catch (cause) {
    return { ok: false, message: cause instanceof Error ? cause.message : 'not JSON' }
  }
}

export function isRecord(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the same text for equal values, whatever the order of their keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, inner) =>
    inner && typeof inner === 'object' && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  )
}

/** Whether a value is nested more deeply than that. Recursive code would overflow the stack on such values. */
export function isDeeperThan(value: Json, most: number): boolean {
  let level: Json[] = [value]
  for (let depth = 0; depth <= most; depth += 1) {
    level = level.flatMap((inner) => (inner !== null && typeof inner === 'object' ? Object.values(inner) : []))
    if (level.length === 0) return false
  }
  return true
}

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Rest}`
  ? `${Head}${Capitalize<CamelCase<Rest>>}`
  : Name
type CamelKeys<Row> = { [Key in keyof Row as Key extends string ? CamelCase<Key> : Key]: Row[Key] }

/** A row of a table under the names of the program. PostgreSQL gives times as text: they are numbers here. */
export function camelKeys<Row extends object>(row: Row): CamelKeys<Row> {
  const entries = Object.entries(row).map(([name, value]) => [
    name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    name.endsWith('_at') && (value ?? null) !== null ? Number(value) : value,
  ])
  return Object.fromEntries(entries)
}

/** The named properties, read one by one: so it also works on placeholders of a reusable query. */
export function pick<Value extends object, Name extends keyof Value>(value: Value, names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, value[name]])) as Pick<Value, Name>
}

/** The row of a value, under the names of its table. */
export function snakeKeys<Value extends object>(value: Value): SnakeKeys<Value> {
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [wireName(name), inner])) as SnakeKeys<Value>
}
