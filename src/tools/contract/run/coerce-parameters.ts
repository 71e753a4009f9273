import { parseAnyJson } from '../../../base/json.ts'
import type { Json } from '../../../protocol/json.ts'
import { describeFound } from '../manifest/describe-issue.ts'
import type { JsonObject, ToolParameter } from '../manifest/manifest.ts'

export type CoercedParameters = { ok: true; params: JsonObject; notes: string[] } | { ok: false; problem: string }

/**
 * What a caller gave to what the tool expects: each value to its type, defaults filled in, null as not given. What the
 * tool does not know is left out with a note. Everything that is missing or does not fit is named at once.
 */
export function coerceParameters(parameters: readonly ToolParameter[], given: Json): CoercedParameters {
  const values = readGiven(given)
  if (!values) return { ok: false, problem: `Parameters must be a JSON object, but ${describeFound(given)} came` }
  const problems: string[] = []
  const entries: [string, Json][] = []
  for (const parameter of parameters) {
    const value = values.get(parameter.name) ?? null
    const coerced = value === null ? defaultOf(parameter) : coerce(parameter, value)
    if (coerced === undefined) problems.push(problemWith(parameter, value))
    else if (coerced !== null) entries.push([parameter.name, coerced])
  }
  if (problems.length > 0) return { ok: false, problem: problems.join('; ') }
  const known = new Set(parameters.map(({ name }) => name))
  const unknown = [...values.keys()].filter((name) => !known.has(name))
  const notes = unknown.length > 0 ? [`Left out, since it does not know them: ${unknown.map(shown).join(', ')}.`] : []
  return { ok: true, params: Object.fromEntries(entries), notes }
}

/** Models send nothing for a tool without parameters, or an object that was encoded twice. */
function readGiven(given: Json): Map<string, Json> | undefined {
  if (given === null || (typeof given === 'string' && given.trim() === '')) return new Map()
  const decoded = typeof given === 'string' ? parseAnyJson(given) : undefined
  const value = decoded?.ok ? decoded.value : given
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined
  return new Map(Object.entries(value))
}

/** Null where there is none; undefined where there must be one. */
function defaultOf(parameter: ToolParameter): Json | undefined {
  if (parameter.default === undefined) return parameter.isRequired ? undefined : null
  return coerce(parameter, parameter.default) ?? parameter.default
}

function problemWith({ name, type, choices }: ToolParameter, value: Json): string {
  if (value === null) return `${name} is missing`
  const expected = choices ? `one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}` : typeWords[type]
  return `${name}: expected ${expected}, found ${describeFound(value)}`
}

const typeWords: Record<ToolParameter['type'], string> = {
  string: 'a text',
  integer: 'a whole number',
  float: 'a number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
}

function coerce({ type, choices }: ToolParameter, value: Json): Json | undefined {
  const coerced = coercions[type](value)
  if (coerced === undefined || !choices) return coerced
  return choices.some((choice) => choice === coerced || String(choice) === String(coerced)) ? coerced : undefined
}

const coercions: Record<ToolParameter['type'], (value: Json) => Json | undefined> = {
  string: (value) => (typeof value === 'object' ? undefined : String(value)),
  integer(value) {
    const number = toNumber(value)
    return Number.isSafeInteger(number) ? number : undefined
  },
  float: toNumber,
  number: toNumber,
  boolean(value) {
    if (typeof value === 'boolean') return value
    const word = typeof value === 'object' ? '' : String(value).trim().toLowerCase()
    if (['true', 'yes', 'on', '1'].includes(word)) return true
    return ['false', 'no', 'off', '0'].includes(word) ? false : undefined
  },
  array(value) {
    if (Array.isArray(value)) return value
    const decoded = typeof value === 'string' ? parseAnyJson(value) : undefined
    if (decoded?.ok && Array.isArray(decoded.value)) return decoded.value
    return value !== null && typeof value === 'object' ? undefined : [value]
  },
  object(value) {
    const decoded = typeof value === 'string' ? parseAnyJson(value) : undefined
    const found = decoded?.ok ? decoded.value : value
    return found !== null && typeof found === 'object' && !Array.isArray(found) ? found : undefined
  },
}

// Not what JavaScript alone would take for a number: "", " ", "0x10", "Infinity".
const decimal = /^[+-]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:e[+-]?\d{1,3})?$/i

function toNumber(value: Json): number | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value !== 'string' || !decimal.test(value.trim())) return undefined
  const number = Number(value)
  return Number.isFinite(number) ? number : undefined
}

function shown(name: string): string {
  return describeFound(name)
}
