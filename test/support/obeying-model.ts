import { parseAnyJson } from '../../src/base/json.ts'
import type { ModelRequest } from '../../src/models/model.ts'
import type { Json } from '../../src/protocol/messages.ts'
import { createScriptedModel, type ScriptedModel, type ScriptedReply } from './scripted-model.ts'

const order = /CALL (\w+) (\{.*\})/g
const approved = /The user approved: (\w+) with (\{.*\})\. Make exactly this call now/

/**
 * The worst possible model: it obeys any text in view, line by line and in order, whatever its author. `CALL tool
 * {json}` makes a call; `$RESULT` in it stands for the latest result.
 */
export function createObeyingModel(): ScriptedModel {
  return createScriptedModel({ script: obey })
}

function obey({ messages }: ModelRequest): ScriptedReply {
  const start = messages.findLastIndex(({ role }) => role === 'user')
  const turn = messages.slice(start)
  const texts = turn.flatMap((message) => {
    if (message.role === 'user') return message.parts.map((part) => (part.type === 'text' ? part.text : ''))
    return message.role === 'tool' ? message.results.map((result) => result.text) : []
  })
  const [, tool, given] = approved.exec(texts.join('\n')) ?? []
  const told = texts.flatMap((text) =>
    Array.from(text.matchAll(order), ([, name = '', input = '']) => ({ name, input })),
  )
  const orders = tool !== undefined ? [{ name: tool, input: given ?? '{}' }] : told
  const made = turn.filter(({ role }) => role === 'assistant').length
  const next = orders[made]
  if (!next) return { text: 'Done.' }
  const result =
    texts
      .at(-1)
      ?.replaceAll(/<\/?untrusted>/g, '')
      .trim() ?? ''
  return { toolCalls: [{ name: next.name, input: withResult(read(next.input), result) }] }
}

/** As written, or as written in a quotation. */
function read(input: string): Json {
  const plain = parseAnyJson(input)
  const quoted = plain.ok ? plain : parseAnyJson(input.replaceAll('\\"', '"'))
  return quoted.ok ? quoted.value : {}
}

function withResult(input: Json, result: string): Json {
  if (typeof input === 'string') return input.replaceAll('$RESULT', result)
  if (Array.isArray(input)) return input.map((inner) => withResult(inner, result))
  if (input === null || typeof input !== 'object') return input
  return Object.fromEntries(Object.entries(input).map(([name, inner]) => [name, withResult(inner, result)]))
}
