import { countWords } from '../../memory/best-passage.ts'
import { contentWords } from '../../memory/content-words.ts'
import type { Json } from '../../protocol/json.ts'
import type { ToolResult } from '../../protocol/message.ts'
import type { Ability, CallIntent, Intent } from './ability.ts'
import { bestNotes } from './best-notes.ts'
import type { NoteLine } from './note-lines.ts'
import { readQueryAnswer } from './query-answer.ts'
import { entityOf } from './read-fact-question.ts'
import { answerFrom, asQuery, recallIntent } from './recall.ts'
import { listNote } from './tell-note.ts'
import { texts } from './texts.ts'

const whom = '(.{1,80}?)'
const own = [
  /^what (?:do|did) i (?:still )?owe$/i,
  /^what (?:have|had) i (?:still )?promised$/i,
  /^what did i promise$/i,
  /^(?:what are |list |show |show me )?(?:all )?my (?:open )?(?:promises|commitments|debts)$/i,
  /^what is (?:still )?(?:due|open)(?: this week| this month| soon)?$/i,
]
const ownTo = [
  new RegExp(`^what (?:do|did) i (?:still )?owe (?:to )?${whom}$`, 'i'),
  new RegExp(`^do i (?:still )?owe ${whom} (?:anything|something|money)$`, 'i'),
  new RegExp(`^what (?:have|had) i (?:still )?promised (?:to )?${whom}$`, 'i'),
  new RegExp(`^what did i promise (?:to )?${whom}$`, 'i'),
]
const theirs = [
  new RegExp(`^what (?:does|do|did) ${whom} (?:still )?owe (?:me|us)$`, 'i'),
  new RegExp(`^what (?:has|have|had) ${whom} promised(?: me| us)?$`, 'i'),
  new RegExp(`^what did ${whom} promise(?: me| us)?$`, 'i'),
  new RegExp(`^does ${whom} (?:still )?owe me (?:anything|something|money)$`, 'i'),
]
const mark = /^(?:mark|set) (.{2,120}?) (?:as )?(done|finished|completed?|cancelled|canceled)$/i
const longestQuestion = 200
const mostListed = 20

/** "What do I still owe my sister?", "What did Tom promise me?", "Mark the photos as done". */
export const promises: Ability = {
  name: 'promises',
  matches({ request }, { cited }) {
    if (request.length > longestQuestion) return undefined
    const text = request.replaceAll('’', "'").replace(/[?!.\s]+$/, '')
    const [, what, state] = mark.exec(text) ?? []
    if (what !== undefined) return closing(what, /^cancel/i.test(state ?? '') ? 'cancelled' : 'done', cited)
    if (own.some((pattern) => pattern.test(text))) return listing({ who: 'user' }, request)
    const creditor = firstMatch(ownTo, text)
    if (creditor !== undefined) return listing({ who: 'user', to: creditor }, request)
    const debtor = firstMatch(theirs, text)
    return debtor === undefined ? undefined : listing({ who: entityOf(debtor), to: 'user' }, request)
  },
}

function firstMatch(patterns: readonly RegExp[], text: string): string | undefined {
  return patterns.map((pattern) => pattern.exec(text)?.[1]).find((found) => found !== undefined)
}

function listing(people: { [key: string]: Json }, question: string): CallIntent {
  const words = asQuery(question)
  return {
    type: 'call',
    tool: 'memory_query',
    input: { ...people, words, limit: mostListed },
    purpose: 'look up what is promised',
    answer(result) {
      const { exact, byWords } = readQueryAnswer(result)
      if (exact.length > 0) return [texts.promises, ...exact.map((note) => listNote(note))].join('\n')
      const open = withoutClosed(byWords)
      return open.length > 0 ? `${texts.noPromises} ${answerFrom(open, words)}` : texts.noPromises
    },
    otherwise: recallIntent(question),
    ifRefused: recallIntent(question),
  }
}

/** Neither what was done nor the words in which it had been told. */
function withoutClosed(notes: readonly NoteLine[]): NoteLine[] {
  const closed = notes.filter((note) => note.kind === 'commitment' && /\((?:done|cancelled|expired)\)$/.test(note.text))
  return notes.filter((note) => {
    const words = contentWords(note.text)
    return !closed.some(({ text }) => countWords(text, words) * 2 > words.length)
  })
}

/** What is meant is looked up first; closed only where it is clear. */
function closing(what: string, state: string, cited: readonly string[]): Intent {
  const [newest] = cited
  if (/^(?:it|that|this)$/i.test(what) && newest !== undefined) return closeCall(newest, state)
  return {
    type: 'call',
    tool: 'memory_query',
    input: { who: 'user', limit: 50 },
    purpose: 'look up what is promised',
    leadsTo: 'commitment_update',
    answer: (result) => closeOne(result, what, state),
  }
}

function closeOne(result: ToolResult, what: string, state: string): string | Intent {
  const { exact } = readQueryAnswer(result)
  const fitting = bestNotes(exact, what).filter(({ isFull }) => isFull)
  const [first, ...others] = fitting
  if (!first) return texts.noSuchPromise
  if (others.length === 0) return closeCall(first.note.id, state)
  return [texts.whichPromise, ...fitting.map(({ note }) => listNote(note))].join('\n')
}

function closeCall(id: string, state: string): CallIntent {
  return {
    type: 'call',
    tool: 'commitment_update',
    input: { id, state },
    purpose: 'change that promise',
    answer: (result) =>
      texts.promiseClosed(
        state,
        readQueryAnswer(result).exact.map((note) => listNote(note)),
      ),
  }
}
