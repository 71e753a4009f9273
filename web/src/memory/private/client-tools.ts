import type { Json } from '../../../../src/protocol/messages.ts'
import { ApiError, call } from '../../api/call.ts'
import {
  inOrder,
  isUsersName,
  maxContentLength,
  maxTitleLength,
  openPrivateStore,
  type PrivateEntry,
  readWords,
} from './private-store.ts'
import { consentOf, isSwitchedOn } from './private-switch.tsx'
import { toolNames, type WaitingCall } from './use-client-tools.ts'

const text = (description: string, maxLength: number) => ({ type: 'string', description, minLength: 1, maxLength })

const saveTool = {
  name: toolNames.save,
  description:
    'Save something in the private memory of the user’s browser, where they ask for that or for privacy. It stays on their device; you can read it in later conversations unless they stop sharing it. A new name of the user takes the place of the one you saved before.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    required: ['title', 'content', 'category', 'priority'],
    properties: {
      title: text('A short title', maxTitleLength),
      content: text('All of it, understandable alone', maxContentLength),
      category: { type: 'string', enum: ['personal', 'project', 'reference', 'custom'] },
      priority: { type: 'integer', minimum: 1, maximum: 10, description: '10 is the most important' },
    },
  },
}

const removeTool = {
  name: toolNames.remove,
  description:
    'Delete something that you saved in the private memory of the user’s browser. Entries that the user wrote themself stay.',
  input_schema: {
    type: 'object',
    additionalProperties: false,
    required: ['memory_title', 'reason'],
    properties: {
      memory_title: text('The title, or a part that no other title has', maxTitleLength),
      reason: text('Why, in a few words', 500),
    },
  },
}

const readTool = {
  name: toolNames.read,
  description:
    'Read what the user shares of the private memory of their browser: notes about them and their work. Look here before you answer what may depend on it.',
  input_schema: { type: 'object', additionalProperties: false, required: [], properties: {} },
}

/** The client tools of this page, as sent with a message. They contain no stored data. */
export async function clientTools(userName: string) {
  const entries = await (await openPrivateStore(userName)).list()
  const sharesSomething = entries.some(({ isShared }) => isShared)
  return sharesSomething ? [saveTool, removeTool, readTool] : [saveTool, removeTool]
}

/** The result of a call: the reply to the model and the changes to the store. */
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

/** Everything of a new entry but its words. */
interface Made {
  id: string
  at: string
  /** The user has agreed that Familiar reads the notes that it saves. */
  isReadable: boolean
}

const maxShared = 100
const maxSharedLength = 20_000

/**
 * Runs a call on the browser's memory. Familiar changes and removes only entries that it saved itself, and learns nothing of
 * the others, not even that they exist.
 */
export function carryOut(entries: readonly PrivateEntry[], call: AskedCall, made: Made): CallOutcome {
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

function save(entries: readonly PrivateEntry[], input: Json, { id, at, isReadable }: Made): CallOutcome {
  const read = readWords(input)
  if (!read.ok) return failed(`Nothing was saved. ${read.message}`)
  const words = read.value
  const own = entries.filter(({ source }) => source === 'ai')
  const isName = isUsersName(words)
  const replaced = own.filter((entry) => isSameTitle(entry.title, words.title) || (isName && isUsersName(entry)))
  // With the consent, Familiar may read what it saves; a note that the user stopped sharing stays so under its new text.
  const isShared = isReadable && (replaced.length === 0 || replaced.some((entry) => entry.isShared))
  const entry: PrivateEntry = { id, ...words, source: 'ai', isShared, createdAt: at, updatedAt: at }
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
    return failed('Nothing was deleted: nothing that you saved has this title. Entries of the user cannot be deleted.')
  if (found.length > 1)
    return failed(`Nothing was deleted: ${found.length} titles have this in them. Give a whole one.`)
  return { text: 'Deleted from the user’s browser.', isError: false, saved: [], removed: [entry] }
}

/** The exact text that leaves the browser. */
export function sharedText(entries: readonly PrivateEntry[]): string {
  const shared = inOrder(entries.filter(({ isShared }) => isShared))
  const lines: string[] = []
  let length = 0
  for (const { title, content, category, source } of shared) {
    const line = `## ${title} (${category}, written by ${source === 'ai' ? 'you' : 'the user'})\n${content}`
    if (lines.length === maxShared || length + line.length > maxSharedLength) break
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

function failed(text: string): CallOutcome {
  return { text, isError: true, saved: [], removed: [] }
}

const folded = (text: string) => text.trim().toLocaleLowerCase()
const isSameTitle = (one: string, other: string) => folded(one) === folded(other)

type Answered = { kind: 'made'; outcome: CallOutcome } | { kind: 'made_before' } | { kind: 'not_ours' }

const maxPauseMs = 10_000

/**
 * Runs a call and reports its result once, also with several tabs: one tab at a time has the lock, and the result is stored
 * together with the change.
 */
export async function answerCall(
  call: WaitingCall,
  { sessionId, userName, signal }: { sessionId: string; userName: string; signal: AbortSignal },
): Promise<Answered> {
  const store = await openPrivateStore(userName)
  if (!(await store.wasSentHere(call.messageIds))) return { kind: 'not_ours' }
  const key = `${sessionId}/${call.callId}`
  const { outcome, isFirst } = isSwitchedOn(userName)
    ? await store.carryOut(key, call, consentOf(userName) === 'reading')
    : { outcome: failed('The user has switched the memory of their browser off. Nothing was done.'), isFirst: true }
  void oneAtATime(key, async () => {
    if (await store.wasTold(key)) return
    const isTold = await tell({ sessionId, callId: call.callId, outcome, signal })
    if (isTold) await store.noteTold(key)
  })
  return isFirst ? { kind: 'made', outcome } : { kind: 'made_before' }
}

async function oneAtATime(key: string, action: () => Promise<void>): Promise<void> {
  // Only a page over https or on this machine has locks; without one the daemon takes the first result.
  if (!navigator.locks) return action()
  await navigator.locks.request(`familiar.client-call.${key}`, action)
}

/**
 * The reply is the rest of the turn, which the events show as well, so it is aborted once the events have the result.
 * True once the daemon has the result.
 */
async function tell(given: {
  sessionId: string
  callId: string
  outcome: CallOutcome
  signal: AbortSignal
}): Promise<boolean> {
  const { sessionId, callId, outcome, signal } = given
  const results = [{ call_id: callId, result: outcome.text, is_error: outcome.isError, untrusted: false }]
  for (let pauseMs = 500; !signal.aborted; pauseMs = Math.min(pauseMs * 2, maxPauseMs)) {
    try {
      await call('clientTools.giveResults', { id: sessionId, results }, { signal })
      return true
    } catch (error) {
      // Already answered, or too late. Only an undelivered answer is sent again.
      if (error instanceof ApiError && error.status > 0 && error.status < 500) return error.status !== 401
    }
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
  return true
}
