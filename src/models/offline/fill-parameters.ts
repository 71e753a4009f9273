import { z } from 'zod'
import { parseAnyJson } from '../../base/json.ts'
import type { Json } from '../../protocol/json.ts'

type Values = { [key: string]: Json }

/** The values for a tool's parameters that a sentence holds, and the names of those that it must hold and does not. */
export interface FilledParameters {
  values: Values
  missing: string[]
}

const propertySchema = z.looseObject({ type: z.unknown().optional(), default: z.unknown().optional() })
const parametersSchema = z.looseObject({
  properties: z.record(z.string(), propertySchema).default({}),
  required: z.array(z.string()).default([]),
})
type Properties = z.infer<typeof parametersSchema>['properties']

/**
 * Fills the parameters of a JSON Schema from words such as "city Paris, days: 3 and unit=metric". Words that name none
 * are the value of the one parameter that must be there.
 */
export function fillParameters(words: string, schema: Json): FilledParameters {
  const checked = parametersSchema.safeParse(schema)
  const { properties, required } = checked.success ? checked.data : { properties: {}, required: [] }
  const given = readValues(words.trim(), properties, required)
  const values = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, coerce(value, properties[name]?.type)]),
  )
  const missing = required.filter((name) => !Object.hasOwn(values, name) && properties[name]?.default === undefined)
  return { values, missing }
}

function readValues(words: string, properties: Properties, required: readonly string[]): Values {
  const object = words.startsWith('{') ? parseAnyJson(words) : undefined
  if (object?.ok && isObject(object.value)) return object.value
  const marks = findNames(words, Object.keys(properties))
  if (marks.length === 0) {
    const [only, ...others] = required.length > 0 ? required : Object.keys(properties)
    return words === '' || only === undefined || others.length > 0 ? {} : { [only]: withoutQuotes(words) }
  }
  return Object.fromEntries(
    marks.map(({ name, end }, index) => {
      return [name, withoutQuotes(withoutJoint(words.slice(end, marks[index + 1]?.start)))]
    }),
  )
}

/** Where the names of parameters stand: at the beginning, or after a comma or "and". The value is what follows. */
function findNames(words: string, names: readonly string[]): { name: string; start: number; end: number }[] {
  const lower = words.toLowerCase()
  return names
    .flatMap((name) => {
      // "max results" is "max_results".
      const spellings = new Set([name.toLowerCase(), name.toLowerCase().replaceAll('_', ' ')])
      const starts = [...spellings].flatMap((spelling) => occurrences(lower, spelling))
      return starts.slice(0, 1).map(({ start, end }) => ({ name, start, end: end + lengthOfSign(words.slice(end)) }))
    })
    .sort((a, b) => a.start - b.start)
}

function occurrences(text: string, wanted: string): { start: number; end: number }[] {
  const found: { start: number; end: number }[] = []
  for (let start = text.indexOf(wanted); start >= 0; start = text.indexOf(wanted, start + 1)) {
    const end = start + wanted.length
    const begins = /(^|[,;\n]\s*|\sand\s+)$/.test(text.slice(Math.max(0, start - 12), start))
    if (begins && /^(\s|[:=])/.test(text.slice(end, end + 1))) found.push({ start, end })
  }
  return found
}

function lengthOfSign(text: string): number {
  return /^\s*(?:[:=]|(?:is|to)\s)?\s*/i.exec(text)?.[0].length ?? 0
}

/** A value without the comma or the "and" that leads to the next one. By its last characters alone, however long it is. */
function withoutJoint(text: string): string {
  const value = text.trim()
  const joint = /([,;]|\sand)$/i.exec(value.slice(-4))?.[0] ?? ''
  return value.slice(0, value.length - joint.length).trim()
}

const quotes = ['""', "''", '“”', '‘’', '``']

function withoutQuotes(text: string): string {
  const isQuoted = text.length > 1 && quotes.includes(`${text.charAt(0)}${text.at(-1)}`)
  return isQuoted ? text.slice(1, -1) : text
}

/** What cannot be made of the wanted type stays as it is: the tool says what is wrong with it. */
function coerce(value: Json, type: unknown): Json {
  if (typeof value !== 'string') return value
  const text = value.trim()
  if ((type === 'number' || type === 'integer') && /^-?\d+(\.\d+)?$/.test(text)) return Number(text)
  if (type === 'boolean' && /^(true|yes|on)$/i.test(text)) return true
  if (type === 'boolean' && /^(false|no|off)$/i.test(text)) return false
  if (type !== 'array' && type !== 'object') return value
  const parsed = parseAnyJson(text)
  if (parsed.ok && typeof parsed.value === 'object') return parsed.value
  return type === 'array' ? text.split(/\s*,\s*/) : value
}

function isObject(value: Json): value is Values {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
