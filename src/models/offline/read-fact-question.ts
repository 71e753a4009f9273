import { readDates } from '../../memory/recall/read-dates.ts'

/** A question for something that is true of somebody, by the form of the sentence. */
export interface FactQuestion {
  /** `user`, or whom the question names. */
  about: string
  /** The names under which it may be known. */
  attributes: readonly string[]
  /** It asks for what was true before. */
  history: boolean
}

const longestQuestion = 200
const longestAttribute = 40

// Different words for one attribute.
const groups: readonly (readonly string[])[] = [
  ['birthday', 'date of birth', 'birth date', 'born on'],
  ['address', 'home address', 'lives in', 'lives at'],
  ['occupation', 'job', 'profession', 'work', 'works as'],
  ['phone number', 'phone', 'number', 'mobile number', 'telephone number'],
  ['email', 'email address', 'mail address'],
  ['name', 'full name', 'first name'],
  ['wife', 'spouse', 'partner', 'married to'],
  ['husband', 'spouse', 'partner', 'married to'],
  ['mother', 'mum', 'mom'],
  ['father', 'dad'],
  ['allergic to', 'allergy'],
  ['boss', 'manager'],
]

interface Form {
  pattern: RegExp
  attributes: readonly string[]
}

const whom = '(.{1,80}?)'
const forms: readonly Form[] = [
  form(`where (?:do|does|did) ${whom} live`, ['lives in', 'address', 'home', 'home town', 'city']),
  form(`where (?:do|does|did) ${whom} work`, ['works at', 'employer', 'company', 'workplace']),
  form(`what (?:do|does|did) ${whom} do(?: for (?:a living|work))?`, ['occupation', 'job', 'profession', 'works at']),
  form(`how old (?:am|is|are) ${whom}`, ['age', 'birthday', 'date of birth']),
  form(`what (?:am|is|are) ${whom} allergic to`, ['allergic to', 'allergy']),
  form(`when (?:was|were|am|is) ${whom} born`, ['birthday', 'date of birth', 'born on']),
  form(`where (?:was|were|am|is) ${whom} born`, ['born in', 'birthplace', 'place of birth']),
  form(`where (?:am|is|are) ${whom} from`, ['from', 'home town', 'nationality']),
  form(`who (?:am|is|are) ${whom} married to`, ['married to', 'wife', 'husband', 'spouse']),
  form(`what (?:do|does) ${whom} (?:like|love|enjoy)`, ['likes', 'loves', 'enjoys', 'prefers']),
  form(`what (?:do|does) ${whom} prefer`, ['prefers', 'likes']),
  form(`what (?:do|does) ${whom} (?:hate|dislike|not like)`, ['dislikes', 'hates']),
  form(`(?:what|which) languages? (?:do|does) ${whom} speak`, ['speaks', 'language']),
  form(`what (?:do|does) ${whom} (?:speak|play)`, ['speaks', 'plays', 'instrument']),
]
const plain = /^(?:what|when|where|who|which)(?:'s| is| are| was| were) (.+)$/i
const earlier = / (?:before(?: that)?|previously|formerly|in the past|back then)$/i
const old = /^(?:old|previous|former|earlier) /i

export function readFactQuestion(request: string): FactQuestion | undefined {
  if (request.length > longestQuestion) return undefined
  const asked = withoutDates(request.replaceAll('’', "'").replace(/[?!.\s]+$/, ''))
  const text = asked.replace(earlier, '').replace(/ (?:now|today|again|currently)$/i, '')
  const isEarlier = earlier.test(asked)
  for (const { pattern, attributes } of forms) {
    const named = pattern.exec(text)?.[1]
    if (named !== undefined) return { about: entityOf(named), attributes, history: isEarlier }
  }
  const owned = readOwned(plain.exec(text)?.[1] ?? '')
  if (!owned) return undefined
  const attribute = owned.attribute.replace(old, '').toLowerCase()
  return { about: owned.about, attributes: namesOf(attribute), history: isEarlier || old.test(owned.attribute) }
}

/** "my address", "Anna's birthday", "my sister's birthday", "the birthday of Anna". */
function readOwned(text: string): { about: string; attribute: string } | undefined {
  const split = Math.max(text.lastIndexOf("'s "), text.lastIndexOf("s' "))
  const called = /^my (.{1,40}) (?:called|named)$/i.exec(text)?.[1]
  if (called !== undefined) return { about: 'user', attribute: called }
  if (split > 0) {
    const about = text.slice(0, text.startsWith("s' ", split) ? split + 1 : split)
    const attribute = text.slice(split + 3)
    const relation = /^my (.{1,40})$/i.exec(about)?.[1]
    // Whoever is the user's wife is called what the fact "wife" says.
    if (relation !== undefined && /^(?:first |full )?name$/i.test(attribute)) {
      return { about: 'user', attribute: relation }
    }
    return checked({ about: entityOf(about), attribute })
  }
  const own = /^my (.+)$/i.exec(text)?.[1]
  if (own !== undefined) return checked({ about: 'user', attribute: own })
  const [, attribute, about] = /^the (.{1,40}) of (.{1,80})$/i.exec(text) ?? []
  return attribute !== undefined && about !== undefined ? checked({ about: entityOf(about), attribute }) : undefined
}

function checked(owned: { about: string; attribute: string }) {
  const { about, attribute } = owned
  return about !== '' && attribute.length <= longestAttribute && !/[,;:]/.test(about + attribute) ? owned : undefined
}

export function entityOf(named: string): string {
  const name = named.trim()
  return /^(?:i|me|myself|we|us)$/i.test(name) ? 'user' : name
}

function namesOf(attribute: string): string[] {
  const group = groups.find(([first]) => first === attribute) ?? groups.find((names) => names.includes(attribute))
  const spellings = [attribute, swap(attribute)]
  return [...new Set([...spellings, ...(group ?? [])])]
}

function swap(attribute: string): string {
  if (/favorite|color/.test(attribute)) return attribute.replace('favorite', 'favourite').replace('color', 'colour')
  return attribute.replace('favourite', 'favorite').replace('colour', 'color')
}

/** "my address in May" asks for an address. */
function withoutDates(text: string): string {
  const match = /^(.+?) (?:(?:in|on|during|last|this|since) .{1,40}|yesterday|today)$/i.exec(text)
  if (match?.[1] === undefined) return text
  return readDates(text.slice(match[1].length), 0, 'UTC') ? match[1] : text
}

function form(pattern: string, attributes: readonly string[]): Form {
  return { pattern: new RegExp(`^${pattern}$`, 'i'), attributes }
}
