import { parseAnyJson } from '../base/json.ts'
import type { Json } from '../protocol/json.ts'

/** Arguments as a provider sent them, as text or as a value. What is not JSON stays text, for the caller to refuse. */
export function readToolInput(raw: Json | undefined): Json {
  if (raw === undefined || raw === null) return {}
  if (typeof raw !== 'string') return raw
  if (raw.trim() === '') return {}
  const parsed = parseAnyJson(raw)
  return parsed.ok ? parsed.value : raw
}

/** Providers take only objects as the arguments of an earlier call. */
export function toObjectInput(input: Json): { [key: string]: Json } {
  return typeof input === 'object' && input !== null && !Array.isArray(input) ? input : { invalid_arguments: input }
}
