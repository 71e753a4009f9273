import type { Json } from '../../../src/protocol/json.ts'
import { toolNames } from './client-tools.ts'
import { inOrder, type PrivateEntry, readWords } from './private-entry.ts'
import { isUsersName } from './users-name.ts'

/** What becomes of a call: what the model is told, and what changes here. */
export interface CallOutcome {
  text: string
  isError: boolean
  saved: PrivateEntry[]
  removed: PrivateEntry[]
}

export interface AskedCall {
  name: string
  input: Json
}

const mostShared = 100
const longestShared = 20_000

/**
 * Does what Familiar asks of the browser's memory. It changes and removes only what it saved itself, and is told nothing of
 * the rest, not even that it is there.
 */
export function carryOut(
  entries: readonly PrivateEntry[],
  call: AskedCall,
  made: { id: string; at: string },
): CallOutcome {
  switch (call.name) {
    case toolNames.save:
      return save(entries, call.input, made)
    case toolNames.remove:
      return remove(entries, call.input)
    case toolNames.read:
      return told(sharedText(entries))
    default:
      return failed(`This page has no tool named ${call.name}.`)
  }
}

function save(entries: readonly PrivateEntry[], input: Json, { id, at }: { id: string; at: string }): CallOutcome {
  const read = readWords(input)
  if (!read.ok) return failed(`Nothing was saved. ${read.message}`)
  const words = read.value
  const own = entries.filter(({ source }) => source === 'ai')
  const isName = isUsersName(words)
  const replaced = own.filter((entry) => isSameTitle(entry.title, words.title) || (isName && isUsersName(entry)))
  // Whoever shared the old words has not seen the new ones.
  const entry: PrivateEntry = { id, ...words, source: 'ai', isShared: false, createdAt: at, updatedAt: at }
  const note = replaced.length > 0 ? ' It takes the place of what you had saved.' : ''
  return { text: `Saved in the user’s browser.${note}`, isError: false, saved: [entry], removed: replaced }
}

function remove(entries: readonly PrivateEntry[], input: Json): CallOutcome {
  const given = typeof input === 'object' && input !== null && !Array.isArray(input) ? input.memory_title : undefined
  if (typeof given !== 'string' || given.trim() === '') return failed('Nothing was deleted. memory_title: is needed.')
  const wanted = given.trim()
  const own = entries.filter(({ source }) => source === 'ai')
  const exact = own.filter(({ title }) => isSameTitle(title, wanted))
  const found = exact.length > 0 ? exact : own.filter(({ title }) => folded(title).includes(folded(wanted)))
  const [entry] = found
  if (!entry)
    return failed('Nothing was deleted: nothing that you saved has this title. What the user wrote is theirs.')
  if (found.length > 1)
    return failed(`Nothing was deleted: ${found.length} titles have this in them. Give a whole one.`)
  return { text: 'Deleted from the user’s browser.', isError: false, saved: [], removed: [entry] }
}

/** All that ever leaves the browser, word for word. */
export function sharedText(entries: readonly PrivateEntry[]): string {
  const shared = inOrder(entries.filter(({ isShared }) => isShared))
  const lines: string[] = []
  let length = 0
  for (const { title, content, category, source } of shared) {
    const line = `## ${title} (${category}, written by ${source === 'ai' ? 'you' : 'the user'})\n${content}`
    if (lines.length === mostShared || length + line.length > longestShared) break
    lines.push(line)
    length += line.length
  }
  if (shared.length === 0) return 'The user shares nothing of it.'
  const left = shared.length - lines.length
  return [...lines, ...(left > 0 ? [`${left} more did not fit.`] : [])].join('\n\n')
}

function told(text: string): CallOutcome {
  return { text, isError: false, saved: [], removed: [] }
}

export function failed(text: string): CallOutcome {
  return { text, isError: true, saved: [], removed: [] }
}

const folded = (text: string) => text.trim().toLocaleLowerCase()
const isSameTitle = (one: string, other: string) => folded(one) === folded(other)
