import type { Json } from '../../protocol/json.ts'
import type { ToolResult } from '../../protocol/message.ts'
import type { Ability } from './ability.ts'
import { readFact } from './fact-sentence.ts'
import { readQueryAnswer } from './query-answer.ts'
import { answerFrom, asQuery, recallIntent } from './recall.ts'
import { texts } from './texts.ts'

interface PeopleQuestion {
  attributes?: string[]
  value?: string
  /** Whose values are counted; absent: those who have it are. */
  about?: string
}

const longestQuestion = 200
const people = '(?:people|persons|friends|colleagues|relatives|others|of my (?:friends|colleagues|relatives))'
const countPeople = new RegExp(
  `^how many ${people}(?: (?:do i|that i|i) know)?(?: (?:who|that))? ((?:is|are|am|live|work|like|love|speak|play|come)s?\\b.+)$`,
  'i',
)
const countKnown = /^how many (.{2,80}) do i know$/i
const countOwn = /^how many (.{2,60}) do i have$/i
const whoIs =
  /^(?:who|which of my (?:friends|colleagues|relatives)|who do i know (?:who|that)) ((?:is|are) (?:an? |allergic to |from )|(?:live|work|like|love|speak|play|come)s? )(.{2,80})$/i
const predicates: readonly [RegExp, string][] = [
  [/^(?:is|are) allergic to /i, 'allergic to'],
  [/^(?:is|are|comes?) from /i, 'from'],
  [/^lives? in /i, 'lives in'],
  [/^works? as (?:an? )?/i, 'occupation'],
  [/^works? (?:at|for) /i, 'works at'],
  [/^(?:likes?|loves?) /i, 'likes'],
  [/^speaks? /i, 'speaks'],
  [/^plays? (?:the )?/i, 'plays'],
]

/** "How many people do I know who are marine biologists?", "Who lives in Rome?", "How many cats do I have?" */
export const askPeople: Ability = {
  name: 'ask people',
  matches({ request }) {
    const question = readPeopleQuestion(request)
    if (!question) return undefined
    const words = asQuery(request)
    const input: { [key: string]: Json } = { words, limit: 50 }
    if (question.attributes) input.attributes = question.attributes
    if (question.value !== undefined) input.value = question.value
    if (question.about !== undefined) input.about = question.about
    return {
      type: 'call',
      tool: 'memory_query',
      input,
      purpose: 'look into your notes',
      answer: (result) => answerPeople(result, question, words),
      otherwise: recallIntent(request),
      ifRefused: recallIntent(request),
    }
  },
}

function readPeopleQuestion(request: string): PeopleQuestion | undefined {
  if (request.length > longestQuestion) return undefined
  const text = request.replaceAll('’', "'").replace(/[?!.\s]+$/, '')
  const counted = countPeople.exec(text)?.[1]
  if (counted !== undefined) return readPredicate(counted)
  const known = countKnown.exec(text)?.[1]
  if (known !== undefined && !/^people$/i.test(known)) return readPredicate(`are ${known}`)
  const own = countOwn.exec(text)?.[1]
  if (own !== undefined) return { about: 'user', attributes: [own] }
  const [, verb, rest] = whoIs.exec(text) ?? []
  return verb !== undefined && rest !== undefined ? readPredicate(`${verb}${rest}`) : undefined
}

function readPredicate(text: string): PeopleQuestion {
  for (const [pattern, attribute] of predicates) {
    if (pattern.test(text)) return { attributes: [attribute], value: text.replace(pattern, '') }
  }
  return { value: text.replace(/^(?:is|are|am) (?:an? )?/i, '') }
}

function answerPeople(result: ToolResult, { about }: PeopleQuestion, words: string): string {
  const { count, exact, byWords } = readQueryAnswer(result)
  if (count === 0) return answerFrom(byWords, words)
  const citations = new Map<string, string>()
  for (const { text, citation } of exact) {
    const fact = readFact(text)
    const name = about === undefined ? fact?.entity : fact?.value
    if (name !== undefined && !citations.has(name)) citations.set(name, citation)
  }
  return texts.counted(
    count,
    Array.from(citations, ([name, citation]) => `${name} ${citation}`),
  )
}
