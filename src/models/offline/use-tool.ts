import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import { truncateText } from '../../base/text.ts'
import type { Json } from '../../protocol/json.ts'
import type { ToolResult } from '../../protocol/message.ts'
import { type Ability, type CallIntent, type Intent, say } from './ability.ts'
import { fillParameters } from './fill-parameters.ts'
import { afterPhrase, hasWords } from './phrase.ts'
import { texts } from './texts.ts'
import { withoutWrapping } from './without-wrapping.ts'

const orders = [
  ...['run', 'use', 'call'].flatMap((verb) =>
    ['tool', 'capability'].flatMap((kind) => [`${verb} the ${kind}`, `${verb} ${kind}`]),
  ),
  '/run',
]
const joints = ['with', 'on', 'for', 'to']
const fetches = ['fetch', 'read', 'open', 'get', 'load', 'show me', 'what does', "what's on", 'what is on']
const searches = [
  'search the web for',
  'search the internet for',
  'search online for',
  'search the web',
  'web search for',
  'web search',
  'google',
  'look up online',
]
const mostShown = 4_000
const longestAddress = 4_000
const longestQuery = 400
/** What a tool says whose result the user sees without us. */
const shownAsCard = /^The user is shown the result as a card\b/

const foundSchema = z.object({ name: z.string(), input: z.json() })

/** Addresses to read and questions for the web, said as one says them. */
export const useWeb: Ability = {
  name: 'use the web',
  matches({ request }) {
    const query = afterPhrase(request, searches)
    if (query !== undefined && hasWords(query)) return callTool('web_search', { query: asQuery(query) })
    const named = afterPhrase(request, fetches)
    const url = named === undefined ? readAddress(request) : (readAddress(named) ?? readBareAddress(named))
    return url === undefined ? undefined : callTool('web_fetch', { url })
  },
}

/** "Run the tool weather with city Valletta": all that follows belongs to it, sentences too. */
export function matchesToolRun(message: string): Intent | undefined {
  const order = afterPhrase(message.trim(), ['please']) ?? message.trim()
  const rest = afterPhrase(order, orders)
  const [name = ''] = /^["'“‘`]?[\w-]{1,64}/.exec(rest ?? '') ?? []
  if (rest === undefined || name === '') return undefined
  const words = rest.slice(name.length).replace(/^["'”’`,:;\s]+/, '')
  return findTool(name.replace(/^["'“‘`]/, ''), afterPhrase(words, joints) ?? words)
}

/** What the tool takes is known only after it has been found. */
function findTool(name: string, words: string): CallIntent {
  return {
    type: 'call',
    tool: 'find_tools',
    input: { query: name },
    purpose: `find the tool ${name}`,
    answer(result) {
      const tool = findNamed(name, result)
      if (!tool) return texts.noSuchTool(name)
      const { values, missing } = fillParameters(words, tool.input)
      return missing.length > 0 ? say(texts.toolNeeds(name, missing)) : callTool(tool.name, values)
    },
    ifRefused: say(texts.noSuchTool(name)),
  }
}

/** `find_tools` tells each tool on a line of its own. Capabilities are called by more than their name. */
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
    answer(result) {
      const text = withoutWrapping(result)
      return shownAsCard.test(text) ? texts.hereItIs : truncateText(text, mostShown) || texts.done
    },
  }
}

/** Cut before its end is looked at: over a long run of marks that would take for ever. */
function asQuery(words: string): string {
  return words
    .slice(0, longestQuery)
    .toWellFormed()
    .trim()
    .replace(/[.?!]+$/, '')
}

/** The address that the words begin with, where next to nothing else is said. */
function readAddress(words: string): string | undefined {
  const [word = '', ...rest] = words.slice(0, longestAddress).trim().split(/\s+/)
  const address = withoutMarks(word)
  return rest.length < 3 && /^https?:\/\/[^\s/]/i.test(address) && URL.canParse(address) ? address : undefined
}

const bareAddress = /^(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,24}(?::\d{1,5})?(?:[/?#]\S*)?$/i

/** "example.com/news", where it is all that is said after "read". */
function readBareAddress(words: string): string | undefined {
  const address = withoutMarks(words.slice(0, longestAddress).trim())
  return bareAddress.test(address) ? `https://${address}` : undefined
}

function withoutMarks(word: string): string {
  return word.replace(/^[<("'“]+/, '').replace(/[>)"'”.,;!?]+$/, '')
}
