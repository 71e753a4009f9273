import { sha256 } from '../../../base/hash.ts'
import { canonicalJson } from '../../../base/json.ts'
import { FamiliarError } from '../../../protocol/error.ts'

/** A file in a message, as the client gives it. `data` is base64. */
export type ListedFile =
  | { kind: 'data'; name: string; mediaType: string; data: string }
  | { kind: 'address'; name: string; url: string }

export interface ListedContent {
  text: string
  files: ListedFile[]
}

/** A call that the client made, or was asked to make; null where it tells no result. */
export interface ListedCall {
  id: string
  name: string
  arguments: string
  result: string | null
}

export interface ListedExchange {
  said: ListedContent
  answers: string[]
  calls: ListedCall[]
}

/** What a client holds for the conversation: it sends all of it, every time. */
export interface ClientList {
  instructions: string
  /** What has its answer. */
  past: ListedExchange[]
  /** What has none yet; with calls where the client was asked to make some. */
  newest: ListedExchange
}

export type ListItem =
  | { kind: 'instructions'; text: string }
  | { kind: 'user'; content: ListedContent }
  | { kind: 'assistant'; text: string; calls: Omit<ListedCall, 'result'>[] }
  | { kind: 'result'; callId: string; text: string }

/** `bad_request` where there is nothing to answer. `key` is what the caller calls the list. */
export function toClientList(items: readonly ListItem[], key: 'messages' | 'input'): ClientList {
  const exchanges: ListedExchange[] = []
  const instructions: string[] = []
  let lastKind: ListItem['kind'] | undefined
  for (const item of items) {
    if (item.kind === 'instructions') {
      instructions.push(item.text)
      continue
    }
    take(exchanges, item, lastKind)
    lastKind = item.kind
  }
  const newest = exchanges.pop()
  if (!newest || lastKind === 'assistant') {
    throw new FamiliarError('bad_request', `${key}: the last one must be of the user, or the result of a tool`)
  }
  return { instructions: instructions.join('\n\n').trim(), past: exchanges, newest }
}

function take(
  exchanges: ListedExchange[],
  item: Exclude<ListItem, { kind: 'instructions' }>,
  lastKind: ListItem['kind'] | undefined,
): void {
  const last = exchanges.at(-1)
  if (item.kind === 'user') {
    // Several messages in a row, of which only the last has an answer: they were said together.
    if (last && lastKind === 'user') last.said = joined(last.said, item.content)
    else exchanges.push({ said: item.content, answers: [], calls: [] })
    return
  }
  const current = last ?? { said: { text: '', files: [] }, answers: [], calls: [] }
  if (!last) exchanges.push(current)
  if (item.kind === 'assistant') {
    if (item.text.trim() !== '') current.answers.push(item.text)
    current.calls.push(...item.calls.map((call) => ({ ...call, result: null })))
    return
  }
  const call = current.calls.find(({ id, result }) => id === item.callId && result === null)
  if (call) call.result = item.text
  else current.calls.push({ id: item.callId, name: '', arguments: '', result: item.text })
}

function joined(one: ListedContent, other: ListedContent): ListedContent {
  return {
    text: [one.text, other.text].filter((text) => text !== '').join('\n\n'),
    files: [...one.files, ...other.files],
  }
}

/** The same for the same message, however its client breaks its lines. */
export function contentHash({ text, files }: ListedContent): string {
  const told = files.map((file) => (file.kind === 'data' ? sha256(file.data) : file.url))
  return sha256(canonicalJson([withoutSpaces(text), ...told])).slice(0, 32)
}

export function textHash(text: string): string {
  return contentHash({ text, files: [] })
}

/** How texts are compared: clients trim and re-wrap what they store. */
export function withoutSpaces(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim()
}
