import type { MemorySearchReply } from '../../../../src/protocol/memory-api.ts'

type Signal = NonNullable<MemorySearchReply['results'][number]['why']>['signals'][number]

/** What each ranker looks at, in words. */
const meanings: Record<string, [name: string, meaning: string]> = {
  meaning: ['Meaning', 'It means something near to the question.'],
  words: ['Words', 'It has words of the question, or stands beside some.'],
  'thread meaning': ['Conversation, meaning', 'The conversation around it is near in meaning.'],
  'thread words': ['Conversation, words', 'The conversation around it has words of the question.'],
  dates: ['Dates', 'It is of the days that were asked about.'],
  speaker: ['Names', 'Somebody whom the question names said it.'],
  role: ['Said by you', 'Your words count before those of Familiar.'],
  number: ['Numbers', 'A number was asked for, and it has one.'],
  self: ['About you', 'It speaks of whoever said it.'],
  standing: ['Standing wish', 'A wish that holds until it is taken back.'],
  kept: ['Kept', 'It was written down on purpose, not merely said.'],
  graph: ['Neighbours', 'It is joined to something that fits.'],
  tags: ['Tags', 'Its tags and title fit.'],
  strength: ['Strength', 'It is used, and has not faded.'],
  recency: ['Recent', 'It was told not long ago.'],
  'asks itself': ['Asks itself', 'A question is seldom the answer to one.'],
  'says little': ['Says little', 'It is very short.'],
  'is long': ['Is long', 'It takes the room of several.'],
  'is cut': ['Is cut', 'It is a passage out of something longer.'],
  'has many passages': ['Has many passages', 'It is one of many passages of the same text.'],
}

interface Reason {
  key: string
  name: string
  meaning: string
  /** Its place in that list, where it is one. */
  rank: number | undefined
  added: number
  /** Of the largest of all shown, 0 to 1: the length of its bar. */
  share: number
}

/** The largest first, as the daemon gives them. */
export function reasonsOf(signals: readonly Signal[]): Reason[] {
  const largest = Math.max(...signals.map(({ added }) => Math.abs(added)), Number.EPSILON)
  return signals.map(({ name, rank, added }) => {
    const [shown, meaning] = meanings[name] ?? [name, '']
    return { key: name, name: shown, meaning, rank, added, share: Math.abs(added) / largest }
  })
}

export function formatAdded(added: number): string {
  return `${added < 0 ? '−' : '+'}${Math.abs(added).toFixed(2)}`
}
