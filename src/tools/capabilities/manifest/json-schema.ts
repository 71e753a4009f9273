import { canonicalJson } from '../../../base/json.ts'
import type { Json } from '../../../protocol/json.ts'

type JsonObject = { [key: string]: Json }

const mostProblems = 5
const longestFound = 80

/**
 * Where a value does not fit a JSON Schema, in words; empty where it fits. The keywords that models and people write are
 * checked; what is unknown passes, and so does `pattern`: a regular expression of a stranger could hold this process for
 * ever. Takes time in proportion to the schema times the value.
 */
export function checkAgainstSchema(value: Json, schema: JsonObject, path = ''): string[] {
  return problemsOf(value, schema, path).slice(0, mostProblems)
}

function problemsOf(value: Json, schema: Json | undefined, path: string): string[] {
  if (schema === false) return [`${path || 'the value'}: expected nothing here`]
  if (!isObject(schema)) return []
  const wrong = (expected: string) => [`${path || 'the value'}: expected ${expected}, found ${found(value)}`]
  const types = typesOf(schema)
  if (types.length > 0 && !types.some((type) => isOfType(value, type))) return wrong(types.join(' or '))
  if ('const' in schema && !isSame(value, schema.const ?? null)) return wrong(found(schema.const ?? null))
  if (Array.isArray(schema.enum) && !schema.enum.some((one) => isSame(value, one))) {
    return wrong(`one of ${schema.enum.slice(0, 20).map(found).join(', ')}`)
  }
  return [
    ...(typeof value === 'number' ? numberProblems(value, schema, wrong) : []),
    ...(typeof value === 'string' ? lengthProblems([...value].length, schema, ['Length', 'characters'], wrong) : []),
    ...(Array.isArray(value) ? listProblems(value, schema, path, wrong) : []),
    ...(isObject(value) ? objectProblems(value, schema, path) : []),
    ...choiceProblems(value, schema, path, wrong),
  ]
}

function typesOf({ type }: JsonObject): string[] {
  const types = Array.isArray(type) ? type : [type ?? null]
  return types.filter((one) => typeof one === 'string')
}

function isOfType(value: Json, type: string): boolean {
  if (type === 'null') return value === null
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
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
  const properties = isObject(schema.properties) ? schema.properties : {}
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

/** Whether two values are the same, whatever the order of their keys. */
export function isSame(one: Json, other: Json): boolean {
  return canonicalJson(one) === canonicalJson(other)
}

function isObject(value: Json | undefined): value is JsonObject {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function found(value: Json): string {
  const text = JSON.stringify(value)
  return text.length > longestFound ? `${text.slice(0, longestFound).toWellFormed()}…` : text
}
