import { hasPlainStatements } from '../../memory/learning/plain-statements.ts'
import type { Ability, CallIntent, Intent } from './ability.ts'
import { readCitation, readDate } from './note-lines.ts'
import { afterPhrase, hasWords, isPhrase } from './phrase.ts'
import type { Sentence } from './sentence.ts'
import { texts } from './texts.ts'
import { withoutWrapping } from './without-wrapping.ts'

// Longer forms first: the first that fits is taken.
const orders = [
  'remember that',
  'remember this list',
  'remember this text',
  'remember this',
  'remember these',
  'remember the following',
  'remember',
  '/remember',
  'note that',
  'note this',
  'note to self',
  'note down that',
  'note down',
  'note',
  'take note that',
  'take note of',
  'take a note that',
  'take a note',
  'make a note that',
  'make a note of',
  'make a note',
  'write down that',
  'write down',
  'write this down',
  'save this',
  'save that',
  "don't forget that",
  'do not forget that',
  "don't forget",
  'do not forget',
  'never forget that',
  'keep in mind that',
  'keep in mind',
  'bear in mind that',
  'bear in mind',
  'you should know that',
  'for your information',
  'fyi',
]
const notOrders = ['remember when', 'remember how', 'remember what', 'remember who', 'remember where', 'remember me']

const feelings = ['like', 'love', 'hate', 'prefer', 'enjoy', 'dislike', "don't like", 'do not like', "can't stand"]
const traits = [
  'allergic',
  'intolerant',
  'vegetarian',
  'vegan',
  'diabetic',
  'married',
  'born',
  'called',
  'from',
  'named',
]
const habits = [
  ...[
    'live in',
    'live at',
    'live with',
    'lived in',
    'moved to',
    'grew up',
    'work at',
    'work for',
    'work as',
    'work in',
  ],
  ...['have a', 'have an', 'have two', 'have three', 'have no', 'own', 'drive', 'speak', 'play', 'usually', 'always'],
  ...["don't eat", 'do not eat', "don't drink", 'do not drink', 'never eat', 'never drink'],
]
// What one did is told, not asked for.
const deeds =
  'decided agreed chose bought sold met visited started finished booked ordered paid lent borrowed promised planted adopted learned learnt moved changed quit joined went got won lost found saw read made'.split(
    ' ',
  )
const felt = ['i', 'i really', 'i also'].flatMap((who) => feelings.map((feeling) => `${who} ${feeling}`))
const stated = [
  ...['i am', "i'm", 'i was', 'i am also', "i'm also"].flatMap((who) => traits.map((trait) => `${who} ${trait}`)),
  ...['i', 'we'].flatMap((who) => [...habits, ...deeds].map((habit) => `${who} ${habit}`)),
  'call me',
]
// "I love it" tells nothing that would be understood later.
const emptyObjects = ['it', 'that', 'this', 'you', 'them', 'these', 'those']
const beings = [' is ', ' are ', ' was ', ' were ', "'s name is "]
const longestStatement = 500
/** "In May we decided …", "Yesterday I met …". */
const dayFirst = /^(?:(?:in|on|last|this) \w{1,12}(?: \w{1,12})?|yesterday|today),? (?=(?:i|we) )/i

export const remember: Ability = {
  name: 'remember',
  matches(sentence) {
    const told = readOrder(sentence)
    if (told !== undefined) return hasWords(told) ? extensible(told) : askWhat
    return isStatement(sentence) ? noteIntent(sentence.request) : undefined
  },
}

/** "Remember this: …" takes all that follows, lists and questions too. */
export function matchesWholeNote(message: string): Intent | undefined {
  const colon = message.slice(0, 80).indexOf(':')
  if (colon < 0) return undefined
  const content = message.slice(colon + 1).trim()
  const opening = message.slice(0, colon).trim()
  const order = afterPhrase(opening, ['please']) ?? opening
  return hasWords(content) && isPhrase(order, orders) ? noteIntent(content) : undefined
}

function readOrder({ request, asks }: Sentence): string | undefined {
  if (asks && afterPhrase(request, notOrders) !== undefined) return undefined
  const told = afterPhrase(request, orders)
  if (told === undefined || !asks) return told
  // "Can you remember my birthday?" asks; "Can you remember that it is in May?" tells.
  const tells =
    afterPhrase(
      request,
      orders.filter((order) => order.endsWith('that')),
    ) !== undefined
  return tells ? told.replace(/\?+$/, '') : undefined
}

function isStatement({ request, asks }: Sentence): boolean {
  if (asks || request.length > longestStatement) return false
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
    answer(result) {
      const since = withoutWrapping(result).startsWith('Known') ? readDate(result.text) : undefined
      const citation = readCitation(result)
      return since === undefined ? texts.noted(content, citation) : texts.knownAlready(content, since, citation)
    },
  }
}

/** After an order to remember, a sentence that asks for nothing of its own belongs to what is told. */
function extensible(content: string): CallIntent {
  return {
    ...noteIntent(content),
    extend: ({ text, startsLine }) => extensible(`${content}${startsLine ? '\n' : ' '}${text}`),
  }
}

const askWhat: Intent = { type: 'say', kind: 'answer', text: texts.nothingToNote }
