import { canonicalJson, isRecord, parseAnyJson } from '../base/json.ts'
import type { Json } from '../protocol/messages.ts'
import { describeFound, type JsonObject, type ToolParameter, typeWords } from './manifest.ts'

type CoercedParameters = { ok: true; params: JsonObject; notes: string[] } | { ok: false; problem: string }

/**
 * Converts the given values to the types of the tool, with defaults; null counts as absent. Unknown values are ignored
 * with a note. All missing and invalid values are reported at once.
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
  const notes =
    unknown.length > 0 ? [`Left out, since it does not know them: ${unknown.map(describeFound).join(', ')}.`] : []
  return { ok: true, params: Object.fromEntries(entries), notes }
}

/** Models send nothing for a tool without parameters, or an object that was encoded twice. */
function readGiven(given: Json): Map<string, Json> | undefined {
  if (given === null || (typeof given === 'string' && given.trim() === '')) return new Map()
  const decoded = typeof given === 'string' ? parseAnyJson(given) : undefined
  const value = decoded?.ok ? decoded.value : given
  return isRecord(value) ? new Map(Object.entries(value)) : undefined
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
    return isRecord(found) ? found : undefined
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

export function parameterSchema(parameters: readonly ToolParameter[]): JsonObject {
  const required = parameters.filter((parameter) => parameter.isRequired && parameter.default === undefined)
  return {
    type: 'object',
    properties: Object.fromEntries(parameters.map((parameter) => [parameter.name, schemaOf(parameter)])),
    ...(required.length > 0 && { required: required.map(({ name }) => name) }),
  }
}

function schemaOf({
  type,
  description,
  default: usual,
  choices,
  items = { type: 'string' },
}: ToolParameter): JsonObject {
  return {
    type: type === 'float' ? 'number' : type,
    ...(description && { description }),
    // Some providers refuse a list without one.
    ...(type === 'array' && { items }),
    ...(choices && { enum: choices }),
    ...(usual !== undefined && { default: usual }),
  }
}

const maxProblems = 5
const maxFoundLength = 80

/**
 * The places where a value does not fit a JSON Schema; empty if it fits. Common keywords are checked; unknown ones
 * pass, and so does `pattern`: an untrusted regular expression could block this process. Takes time in proportion to
 * the schema times the value.
 */
export function checkAgainstSchema(value: Json, schema: JsonObject, path = ''): string[] {
  return problemsOf(value, schema, path).slice(0, maxProblems)
}

function problemsOf(value: Json, schema: Json | undefined, path: string): string[] {
  if (schema === false) return [`${path || 'the value'}: expected nothing here`]
  if (!isRecord(schema)) return []
  const wrong = (expected: string) => [`${path || 'the value'}: expected ${expected}, found ${found(value)}`]
  const types = [schema.type ?? null].flat().filter((type) => typeof type === 'string')
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) return wrong(types.join(' or '))
  if ('const' in schema && !isSame(value, schema.const ?? null)) return wrong(found(schema.const ?? null))
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => isSame(value, one))) {
    return wrong(`one of ${schema.enum.slice(0, 20).map(found).join(', ')}`)
  }
  return [
    ...(typeof value === 'number' ? numberProblems(value, schema, wrong) : []),
    ...(typeof value === 'string' ? lengthProblems([...value].length, schema, ['Length', 'characters'], wrong) : []),
    ...(Array.isArray(value) ? listProblems(value, schema, path, wrong) : []),
    ...(isRecord(value) ? objectProblems(value, schema, path) : []),
    ...choiceProblems(value, schema, path, wrong),
  ]
}

function isOfType(value: Json, type: string): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isRecord(value)
  if (type === 'integer') return Number.isInteger(value)
  const known = ['string', 'number', 'boolean']
  // A type that JSON Schema does not have is an unknown word like any other.
  return known.includes(type) ? typeof value === type : true
}

type Wrong = (expected: string) => string[]

function numberProblems(value: number, schema: JsonObject, wrong: Wrong): string[] {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum } = schema
  if (typeof minimum === 'number' && value < minimum) return wrong(`at least ${minimum}`)
  if (typeof maximum === 'number' && value > maximum) return wrong(`at most ${maximum}`)
  if (typeof exclusiveMinimum === 'number' && value <= exclusiveMinimum) return wrong(`more than ${exclusiveMinimum}`)
  if (typeof exclusiveMaximum === 'number' && value >= exclusiveMaximum) return wrong(`less than ${exclusiveMaximum}`)
  return []
}

function lengthProblems(length: number, schema: JsonObject, [what, unit]: [string, string], wrong: Wrong): string[] {
  const least = schema[`min${what}`]
  const most = schema[`max${what}`]
  if (typeof least === 'number' && length < least) return wrong(`at least ${least} ${unit}`)
  if (typeof most === 'number' && length > most) return wrong(`at most ${most} ${unit}`)
  return []
}

function listProblems(value: Json[], schema: JsonObject, path: string, wrong: Wrong): string[] {
  const inner = value.flatMap((item, index) => problemsOf(item, schema.items, `${path}[${index}]`))
  return [...lengthProblems(value.length, schema, ['Items', 'entries'], wrong), ...inner]
}

function objectProblems(value: JsonObject, schema: JsonObject, path: string): string[] {
  const below = (key: string) => (path ? `${path}.${key}` : key)
  const required = Array.isArray(schema.required) ? schema.required : []
  const missing = required.filter((key) => typeof key === 'string' && !Object.hasOwn(value, key))
  const properties = isRecord(schema.properties) ? schema.properties : {}
  const inner = Object.entries(value).flatMap(([key, item]) => {
    if (Object.hasOwn(properties, key)) return problemsOf(item, properties[key], below(key))
    if (schema.additionalProperties !== false) return problemsOf(item, schema.additionalProperties, below(key))
    const known = Object.keys(properties)
    return [`${below(key)}: expected only ${known.length > 0 ? known.join(', ') : 'an empty object'}`]
  })
  return [...missing.map((key) => `${below(String(key))}: expected a value, found nothing`), ...inner]
}

function choiceProblems(value: Json, schema: JsonObject, path: string, wrong: Wrong): string[] {
  const all = Array.isArray(schema.allOf) ? schema.allOf.flatMap((one) => problemsOf(value, one, path)) : []
  const fitting = (choices: Json[]) => choices.filter((one) => problemsOf(value, one, path).length === 0).length
  const { anyOf, oneOf } = schema
  if (Array.isArray(anyOf) && fitting(anyOf) === 0) return [...all, ...wrong('what one of the choices allows')]
  if (Array.isArray(oneOf) && fitting(oneOf) !== 1) return [...all, ...wrong('what exactly one of the choices allows')]
  return all
}

export function isSame(one: Json, other: Json): boolean {
  return canonicalJson(one) === canonicalJson(other)
}

function found(value: Json): string {
  const text = JSON.stringify(value)
  return text.length > maxFoundLength ? `${text.slice(0, maxFoundLength).toWellFormed()}…` : text
}
