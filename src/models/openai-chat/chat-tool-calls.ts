import { parseAnyJson } from '../../base/json.ts'
import type { Json } from '../../protocol/json.ts'
import type { ToolCallPiece } from './chat-chunk.ts'

export interface CollectedCall {
  index: number | undefined
  id: string | undefined
  name: string
  /** What came as text, joined; where a server sent the arguments themselves, those. */
  input: Json
  signature: string | undefined
}

/** Puts the calls of one answer together from their pieces. */
export interface ToolCallCollector {
  add(piece: ToolCallPiece): void
  /** In the order of their indexes, or as they came where one has none. */
  collected(): CollectedCall[]
}

/**
 * The protocol says: a piece belongs to the call of its index, and the first one has the id and the name. Servers leave
 * out the index or the id, repeat id and name in every piece, give every call the index 0, or send calls whole.
 */
export function createToolCallCollector(): ToolCallCollector {
  const calls: CollectedCall[] = []

  function add(piece: ToolCallPiece): void {
    const known = callOf(piece)
    if (known && !beginsAnother(piece, known)) extend(known, piece)
    else calls.push(begin(piece))
  }

  /** The call that a piece goes on with, unless it begins another. */
  function callOf({ index, id, name }: ToolCallPiece): CollectedCall | undefined {
    const indexed = index === undefined ? undefined : calls.findLast((call) => call.index === index)
    if (indexed) return indexed
    const named = id === undefined ? undefined : calls.findLast((call) => call.id === id)
    // The same id at another index, with a name, is a second call of a server that has one id for all.
    if (named) return index !== undefined && name !== undefined ? undefined : named
    return index === undefined && (id === undefined || name === undefined) ? calls.at(-1) : undefined
  }

  return {
    add,
    collected() {
      const sent = calls.filter((call) => call.name !== '' || !isEmpty(call.input))
      return sent.every(({ index }) => index !== undefined)
        ? sent.toSorted((a, b) => (a.index ?? 0) - (b.index ?? 0))
        : sent
    },
  }
}

function begin({ index, id, name = '', input = '', signature }: ToolCallPiece): CollectedCall {
  return { index, id, name, input, signature }
}

function extend(call: CollectedCall, { id, name, input, signature }: ToolCallPiece): void {
  call.id ??= id
  call.name ||= name ?? ''
  call.signature ??= signature
  if (input === undefined) return
  if (typeof input === 'string' && typeof call.input === 'string') call.input += input
  else if (typeof input !== 'string') call.input = input
}

/** Whether a piece that could go on with a call is the first of the next one. Only a piece with a name can be. */
function beginsAnother({ index, id, name, input }: ToolCallPiece, call: CollectedCall): boolean {
  if (name === undefined || call.name === '') return false
  if (name !== call.name) return true
  const opens = typeof input === 'string' ? /^\s*[{[]/.test(input) : input !== undefined
  const hasOtherId = id !== undefined && id !== call.id
  if (opens) return (hasOtherId && call.id !== undefined) || isWhole(call.input)
  if (!isEmpty(input)) return false
  if (hasOtherId) return isWhole(call.input)
  return index === undefined && id === undefined && isEmpty(call.input)
}

function isEmpty(input: Json | undefined): boolean {
  return input === undefined || (typeof input === 'string' && input.trim() === '')
}

function isWhole(input: Json): boolean {
  return typeof input !== 'string' || (/[}\]]\s*$/.test(input.slice(-16)) && parseAnyJson(input).ok)
}
