import { z } from 'zod'
import { nearestName } from './nearest-name.ts'
import type { TomlPath } from './toml-index.ts'

/** What to say of a key that the schema does not know: the key that was probably meant, or those that there are. */
export function adviseOnKey(schema: z.ZodType, table: TomlPath, key: string): string {
  const siblings = keysAt(schema, table)
  const near = nearestName(key, siblings)
  if (near !== undefined) return `is not a known key; did you mean ${near}?`
  const elsewhere = allPaths(schema).find((path) => path.length > 1 && path.at(-1) === key)
  if (elsewhere) return `is not a known key here; it belongs into [${elsewhere.slice(0, -1).join('.')}]`
  return `is not a known key; known here: ${siblings.join(', ')}`
}

function keysAt(schema: z.ZodType, path: TomlPath): string[] {
  let level: z.ZodType | undefined = unwrap(schema)
  for (const part of path) {
    if (level instanceof z.ZodObject) level = level.shape[String(part)]
    else if (level instanceof z.ZodRecord) level = level.valueType as z.ZodType
    else if (level instanceof z.ZodArray) level = level.element as z.ZodType
    level = level && unwrap(level)
  }
  return level instanceof z.ZodObject ? Object.keys(level.shape) : []
}

function allPaths(schema: z.ZodType, path: readonly string[] = []): string[][] {
  const level = unwrap(schema)
  if (!(level instanceof z.ZodObject)) return [[...path]]
  return Object.entries(level.shape).flatMap(([key, inner]) => allPaths(inner as z.ZodType, [...path, key]))
}

/** The schema under its defaults. */
function unwrap(schema: z.ZodType): z.ZodType {
  if (schema instanceof z.ZodExactOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault)
    return unwrap(schema.unwrap() as z.ZodType)
  return schema
}
