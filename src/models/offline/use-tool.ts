import { z } from 'zod'
import { isRecord, parseAnyJson, parseJson } from '../../base/json.ts'
import { truncateText } from '../../base/text.ts'
import type { Json, ToolResult } from '../../protocol/messages.ts'
import { withoutWrapping } from './notes.ts'
import phrases from './phrases.json' with { type: 'json' }
import { type Ability, afterPhrase, type CallIntent, hasWords, type Intent, say } from './sentence.ts'

const orders = [
  ...['run', 'use', 'call'].flatMap((verb) =>
    ['tool', 'capability'].flatMap((kind) => [`${verb} the ${kind}`, `${verb} ${kind}`]),
  ),
  '/run',
]
const joints = ['with', 'on', 'for', 'to']
const fetches = ['fetch', 'read', 'open', 'get', 'load', 'show me', 'what does', "what's on", 'what is on']
const maxShown = 4_000
const maxAddressLength = 4_000
const maxQueryLength = 400
/** The text of a tool whose result the user already sees. */
const shownAsCard = /^The user is shown the result as a card\b/

const foundSchema = z.object({ name: z.string(), input: z.json() })

/** Addresses to read and web searches, in natural phrasing. */
export const useWeb: Ability = ({ request }) => {
  const query = afterPhrase(request, phrases.webSearches)
  if (query !== undefined && hasWords(query)) return callTool('web_search', { query: asQuery(query) })
  const named = afterPhrase(request, fetches)
  const url = named === undefined ? readAddress(request) : (readAddress(named) ?? readBareAddress(named))
  return url === undefined ? undefined : callTool('web_fetch', { url })
}

/** "Run the tool weather with city Valletta": everything that follows belongs to it, including sentences. */
export function matchesToolRun(message: string): Intent | undefined {
  const order = afterPhrase(message.trim(), ['please']) ?? message.trim()
  const rest = afterPhrase(order, orders)
  const [name = ''] = /^["'“‘`]?[\w-]{1,64}/.exec(rest ?? '') ?? []
  if (rest === undefined || name === '') return undefined
  const words = rest.slice(name.length).replace(/^["'”’`,:;\s]+/, '')
  return findTool(name.replace(/^["'“‘`]/, ''), afterPhrase(words, joints) ?? words)
}

/** The tool's parameters are known only after it has been found. */
function findTool(name: string, words: string): CallIntent {
  return {
    type: 'call',
    tool: 'find_tools',
    input: { query: name },
    purpose: `find the tool ${name}`,
    answer(result, texts) {
      const tool = findNamed(name, result)
      if (!tool) return texts.noSuchTool(name)
      const { values, missing } = fillParameters(words, tool.input)
      return missing.length > 0 ? say((texts) => texts.toolNeeds(name, missing)) : callTool(tool.name, values)
    },
    ifRefused: say((texts) => texts.noSuchTool(name)),
  }
}

/** `find_tools` lists one tool per line. Capabilities have longer tool names. */
function findNamed(name: string, result: ToolResult): z.infer<typeof foundSchema> | undefined {
  const found = withoutWrapping(result)
    .split('\n')
    .flatMap((line) => {
      const parsed = parseJson(line, foundSchema)
      return parsed.ok ? [parsed.value] : []
    })
  return found.find((tool) => tool.name === name) ?? found.find((tool) => tool.name === `cap_${name}`)
}

function callTool(tool: string, input: { [key: string]: Json }): CallIntent {
  return {
    type: 'call',
    tool,
    input,
    purpose: `use ${tool}`,
    answer(result, texts) {
      const text = withoutWrapping(result)
      return shownAsCard.test(text) ? texts.hereItIs : truncateText(text, maxShown) || texts.done
    },
  }
}

/** Cut before its end is checked, because that takes quadratic time on a long run of marks. */
function asQuery(words: string): string {
  return words
    .slice(0, maxQueryLength)
    .toWellFormed()
    .trim()
    .replace(/[.?!]+$/, '')
}

/** The address that the words begin with, if there is little else. */
function readAddress(words: string): string | undefined {
  const [word = '', ...rest] = words.slice(0, maxAddressLength).trim().split(/\s+/)
  const address = withoutMarks(word)
  return rest.length < 3 && /^https?:\/\/[^\s/]/i.test(address) && URL.canParse(address) ? address : undefined
}

const bareAddress = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,24}(?::\d{1,5})?(?:[/?#]\S*)?$/i

/** "example.com/news", if it is everything after "read". */
function readBareAddress(words: string): string | undefined {
  const address = withoutMarks(words.slice(0, maxAddressLength).trim())
  return bareAddress.test(address) ? `https://${address}` : undefined
}

function withoutMarks(word: string): string {
  return word.replace(/^[<("'“]+/, '').replace(/[>)"'”.,;!?]+$/, '')
}

type Values = { [key: string]: Json }

const propertySchema = z.looseObject({ type: z.unknown().optional(), default: z.unknown().optional() })
const parametersSchema = z.looseObject({
  properties: z.record(z.string(), propertySchema).default({}),
  required: z.array(z.string()).default([]),
})
type Properties = z.infer<typeof parametersSchema>['properties']

/**
 * Fills the parameters of a JSON Schema from words such as "city Paris, days: 3 and unit=metric". Words without a name
 * are the value of the one required parameter. `missing` names the required ones without a value.
 */
export function fillParameters(words: string, schema: Json): { values: Values; missing: string[] } {
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
  if (object?.ok && isRecord(object.value)) return object.value
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

/** Parameter names at the beginning, or after a comma or "and". The value follows. */
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

/** A value without the comma or "and" before the next one. Checks only its last characters, however long it is. */
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

/** A value that cannot be converted stays as it is: the tool reports the error. */
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
