import { hasPlainStatements } from '../../memory/learning/plain-statements.ts'
import { readCitation, readDay, withoutWrapping } from './notes.ts'
import phrases from './phrases.json' with { type: 'json' }
import {
  type Ability,
  afterPhrase,
  type CallIntent,
  hasWords,
  type Intent,
  isPhrase,
  type Sentence,
  say,
} from './sentence.ts'

const notOrders = ['remember when', 'remember how', 'remember what', 'remember who', 'remember where', 'remember me']

const feelings = ['like', 'love', 'hate', 'prefer', 'enjoy', 'dislike', "don't like", 'do not like', "can't stand"]
const felt = ['i', 'i really', 'i also'].flatMap((who) => feelings.map((feeling) => `${who} ${feeling}`))
const stated = [
  ...['i am', "i'm", 'i was', 'i am also', "i'm also"].flatMap((who) =>
    phrases.traits.map((trait) => `${who} ${trait}`),
  ),
  // Past actions are statements, not requests.
  ...['i', 'we'].flatMap((who) => [...phrases.habits, ...phrases.deeds].map((habit) => `${who} ${habit}`)),
  'call me',
]
// "I love it" says nothing that would be understood later.
const emptyObjects = ['it', 'that', 'this', 'you', 'them', 'these', 'those']
const beings = [' is ', ' are ', ' was ', ' were ', "'s name is "]
const maxStatementLength = 500
/** "In May we decided …", "Yesterday I met …". */
const dayFirst = /^(?:(?:in|on|last|this) \w{1,12}(?: \w{1,12})?|yesterday|today),? (?=(?:i|we) )/i

export const remember: Ability = (sentence) => {
  const told = readOrder(sentence)
  if (told !== undefined) return hasWords(told) ? extensible(told) : say((texts) => texts.nothingToNote)
  return isStatement(sentence) ? noteIntent(sentence.request) : undefined
}

/** "Remember this: …" takes everything that follows, including lists and questions. */
export function matchesWholeNote(message: string): Intent | undefined {
  const colon = message.slice(0, 80).indexOf(':')
  if (colon < 0) return undefined
  const content = message.slice(colon + 1).trim()
  const opening = message.slice(0, colon).trim()
  const order = afterPhrase(opening, ['please']) ?? opening
  return hasWords(content) && isPhrase(order, phrases.rememberOrders) ? noteIntent(content) : undefined
}

function readOrder({ request, asks }: Sentence): string | undefined {
  if (asks && afterPhrase(request, notOrders) !== undefined) return undefined
  const told = afterPhrase(request, phrases.rememberOrders)
  if (told === undefined || !asks) return told
  // "Can you remember my birthday?" asks; "Can you remember that it is in May?" tells.
  const tells =
    afterPhrase(
      request,
      phrases.rememberOrders.filter((order) => order.endsWith('that')),
    ) !== undefined
  return tells ? told.replace(/\?+$/, '') : undefined
}

function isStatement({ request, asks }: Sentence): boolean {
  if (asks || request.length > maxStatementLength) return false
  if (afterPhrase(request.replace(dayFirst, ''), stated) !== undefined) return true
  const object = afterPhrase(request, felt)
  if (object !== undefined) return hasWords(object) && afterPhrase(object, emptyObjects) === undefined
  const lower = request.toLowerCase().replaceAll('’', "'")
  const being = beings.some((verb) => lower.includes(verb))
  if (hasPlainStatements(request)) return true
  if (afterPhrase(request, ['i am', "i'm"]) !== undefined) return lower.includes(' years old')
  return being && (afterPhrase(request, ['my', 'our']) !== undefined || lower.includes("'s birthday "))
}

export function noteIntent(content: string): CallIntent {
  return {
    type: 'call',
    tool: 'store_memory',
    input: { content },
    purpose: 'save that',
    answer(result, texts) {
      const day = withoutWrapping(result).startsWith('Known') ? readDay(result.text) : undefined
      const since = day && texts.dateOf(day)
      const citation = readCitation(result)
      return since === undefined ? texts.noted(content, citation) : texts.knownAlready(content, since, citation)
    },
  }
}

/** After an order to remember, a sentence without a request belongs to the note. */
export function extensible(content: string): CallIntent {
  return {
    ...noteIntent(content),
    extend: ({ text, startsLine }) => extensible(`${content}${startsLine ? '\n' : ' '}${text}`),
  }
}

// How people ask for changes to memories. The tools recognize consent by the same words.

export const forgetOrders = ['forget about', 'forget', '/forget', 'delete', 'erase', 'remove', 'get rid of']

/** Words for the kind of thing to forget, not for the thing itself. */
export const genericWords: ReadonlySet<string> = new Set(phrases.genericWords)

export const wrongs = [
  ...["that's", 'that is', "it's", 'it is', 'this is'].flatMap((that) =>
    ['wrong', 'not right', 'not true', 'not correct', 'incorrect', 'false'].map((word) => `${that} ${word}`),
  ),
  ...["that isn't right", "that isn't true", "that isn't correct", 'wrong', 'not true', 'correction'],
]

/** Commas left out. */
export const agreements: readonly string[] = phrases.agreements
