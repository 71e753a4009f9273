import { parseAnyJson } from '../../base/json.ts'
import type { Json } from '../../protocol/json.ts'
import type { CommandContext } from '../command.ts'
import { usageError } from '../command-error.ts'
import { readInput } from '../memory/read-input.ts'

/** The object in an option, or on standard input for `-`. */
export async function readJsonOption(
  context: CommandContext,
  option: string,
  text: string | undefined,
): Promise<{ [key: string]: Json }> {
  if (text === undefined) return {}
  const given = text === '-' ? (await readInput(context)).toString('utf8') : text
  const example = `Such as: ${option} '{"name": "Anna"}'`
  const parsed = parseAnyJson(given)
  if (!parsed.ok) throw usageError(`${option} is not JSON: ${parsed.message}.`, example)
  const { value } = parsed
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value
  throw usageError(`${option} is an object of JSON; this is ${value === null ? 'null' : describe(value)}.`, example)
}

function describe(value: Json): string {
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}
