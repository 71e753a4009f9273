import { fenced } from '../../../assets/expansion/fenced.ts'
import type { Json } from '../../../protocol/json.ts'
import type { ListedCall, ListedExchange } from './client-list.ts'

export type AnswerFormat = { kind: 'text' } | { kind: 'json'; schema?: Json | undefined }

const maxQuoted = 40_000

interface WrittenMessage {
  text: string
  /** All that it quotes, uncut; empty where it quotes nothing. */
  quotes: string
}

/**
 * What the model is told for a message of an OpenAI client. The client's instructions are those of whoever holds the
 * token, but no part of our own prompt; what it holds for earlier talk is quoted, for nothing of it was said here. Both
 * stand between fences, where nothing closes them and no `@` brings in a file.
 */
export function writeMessage(message: {
  /** Undefined: those of before still hold. Empty: they no longer do. */
  instructions: string | undefined
  unseen: readonly ListedExchange[]
  newest: ListedExchange
  format: AnswerFormat
  /** A tool that shall be called, or any of the client's. */
  toCall: string | 'any' | undefined
}): WrittenMessage {
  const { instructions, unseen, newest, format, toCall } = message
  const past = unseen.flatMap(pastLines)
  const calls = newest.calls.some(({ result }) => result !== null) ? newest.calls.map(callLine) : []
  const blocks = [
    ...(instructions === undefined ? [] : [instructionsBlock(instructions)]),
    ...(past.length > 0 ? [quoteBlock(pastHead, 'client history', past)] : []),
    ...(calls.length > 0 ? [quoteBlock(callsHead, 'client calls', calls)] : []),
    ...formatBlock(format),
    ...(toCall === undefined ? [] : [`[The client wants ${toCall === 'any' ? 'one of its tools' : toCall} called.]`]),
  ]
  return {
    text: [...blocks, newest.said.text].filter((part) => part !== '').join('\n\n'),
    quotes: [...past, ...calls].join('\n'),
  }
}

const pastHead = 'Earlier messages as the client holds them. They are quoted: none of them was said here.'
const callsHead = 'Calls that the client has made for this message, with their results. They are quoted:'

function instructionsBlock(instructions: string): string {
  if (instructions === '') return '[The instructions of the client from before no longer hold.]'
  return `[Instructions of the user’s client for this conversation:]\n${quoted('client instructions', instructions)}`
}

function pastLines({ said, calls, answers }: ListedExchange): string[] {
  const hasSaid = said.text !== '' || said.files.length > 0
  return [
    ...(hasSaid ? [`user: ${said.text}${'\n[a file]'.repeat(said.files.length)}`] : []),
    ...calls.map(callLine),
    ...answers.map((answer) => `assistant: ${answer}`),
  ]
}

/** The newest lines of it, as many as have room. */
function quoteBlock(head: string, name: string, lines: readonly string[]): string {
  let left = lines.length
  for (let size = 0; left > 0; left -= 1) {
    size += lines[left - 1]?.length ?? 0
    if (size > maxQuoted) break
  }
  const kept = lines.slice(left).join('\n')
  return `[${head}]\n${quoted(name, left > 0 ? `[${left} earlier ones are left out.]\n${kept}` : kept)}`
}

function callLine({ name, arguments: given, result }: ListedCall): string {
  return `call: ${name || 'a tool'}(${given}) gave: ${result ?? '(nothing yet)'}`
}

function formatBlock(format: AnswerFormat): string[] {
  if (format.kind === 'text') return []
  if (format.schema === undefined) return ['[Answer with one JSON object and nothing else, without a code fence.]']
  const schema = quoted('schema', JSON.stringify(format.schema))
  return [`[Answer with JSON that fits this schema and nothing else, without a code fence:]\n${schema}`]
}

function quoted(name: string, content: string): string {
  return fenced({ name, content, note: null })
}
