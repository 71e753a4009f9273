import { isPlainName, namePattern, type Person, relationPattern } from './plain-people.ts'

export interface PlainFact {
  entity: string
  attribute: string
  value: string
}

interface Form {
  pattern: RegExp
  attribute: string
  /** "Tea and coffee" is two. */
  isList?: true
  fits?(value: string): boolean
}

const traits =
  'vegetarian|vegan|pescatarian|diabetic|coeliac|celiac|asthmatic|dyslexic|lactose intolerant|gluten intolerant|left-handed|right-handed|colou?r-?blind|deaf|blind|pregnant|married|divorced|widowed|single|retired|Muslim|Jewish|Christian|Catholic|Buddhist|Hindu'
const month = '(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}'
const date = new RegExp(
  `^(?:the )?\\d{1,2}(?:st|nd|rd|th)?(?: of)? ${month}|^${month} \\d{1,2}|^\\d{4}-\\d{2}-\\d{2}`,
  'i',
)
const be = '(?:am|is)'

const forms: readonly Form[] = [
  { pattern: new RegExp(`^${be} allergic to (.+)$`), attribute: 'allergic to', isList: true },
  { pattern: new RegExp(`^${be} married to (.+)$`), attribute: 'married to', fits: isPlainName },
  { pattern: new RegExp(`^(?:${be}|comes?) from (.+)$`), attribute: 'from', fits: isPlainName },
  { pattern: new RegExp(`^${be} (?:an? )?(${traits})$`), attribute: 'is' },
  { pattern: new RegExp(`^${be} (\\d{1,3})(?: years old)?$`), attribute: 'age' },
  { pattern: /^(?:was|am) born on (.+)$/, attribute: 'birthday', fits: (value) => date.test(value) },
  { pattern: /^(?:was|am) born in (.+)$/, attribute: 'born in' },
  { pattern: /^(?:now )?lives? (?:in|at) (.+)$/, attribute: 'lives in' },
  { pattern: /^(?:have |has |just |have just |has just )?moved to (.+)$/, attribute: 'lives in' },
  { pattern: /^(?:now )?works? as (?:an? |the )?([^,;]+?)(?: (?:at|in|for|with) .+)?$/, attribute: 'occupation' },
  { pattern: /^(?:now )?works? (?:at|for) (.+)$/, attribute: 'works at' },
  { pattern: /^speaks? (.+)$/, attribute: 'speaks', isList: true, fits: (value) => /^\p{Lu}/u.test(value) },
  {
    pattern: /^plays? (?:the )?(piano|guitar|violin|cello|drums|flute|chess|tennis|football|basketball)$/,
    attribute: 'plays',
  },
  {
    pattern: /^(?:really |also |absolutely )?(?:likes?|loves?|enjoys?|adores?) (.+)$/,
    attribute: 'likes',
    isList: true,
    fits: isLikeable,
  },
  { pattern: /^(?:really |also )?prefers? (.+)$/, attribute: 'prefers', fits: isLikeable },
  {
    pattern: /^(?:really |also )?(?:hates?|dislikes?|detests?) (.+)$/,
    attribute: 'dislikes',
    isList: true,
    fits: isLikeable,
  },
]

const possessive = /^['’]s (\p{L}[\p{L} -]{1,30}) (?:is|are) (?:on )?(.+)$/u
const ownAttribute = /^my (\p{L}[\p{L} -]{1,30}) (?:is|are) (?:on )?(.+)$/iu
const attributes = new Set(
  `birthday|name|full name|first name|last name|surname|middle name|address|phone number|number|email|email address|job|
  occupation|profession|age|anniversary|wedding anniversary|wedding day|name day|blood type|shoe size|dress size|ring size|
  size|hometown|home town|nationality|star sign|native language|mother tongue`
    .split('|')
    .map((attribute) => attribute.trim()),
)
const called = new RegExp(`^(?:['’]s name is|${be} called|${be} named|is) (${namePattern})$`, 'u')
const isMy = new RegExp(`^is my (${relationPattern})$`)
const isTheirs = new RegExp(`^is (?:my (${relationPattern})|(${namePattern}))['’]s (${relationPattern})$`, 'u')
const has = new RegExp(
  `^(?:have|has|have got|has got) (?:an?|one|two|three|four) (${relationPattern})s? (?:who is |that is )?(?:called|named) (.+)$`,
)
const isA = new RegExp(`^${be} (?:now )?an? (.+)$`)

/** What is said of the person that the clause began with. Undefined where it is no form that is read. */
export function readPlainFacts(person: Person): PlainFact[] | undefined {
  const { entity, rest } = person
  const introduced = readIntroduction(person)
  if (introduced) return introduced
  const owned = possessive.exec(rest)
  if (owned) return attributeFact(entity, owned[1] ?? '', owned[2] ?? '')
  for (const { pattern, attribute, isList, fits } of forms) {
    const found = pattern.exec(rest)?.[1]
    if (found === undefined) continue
    const values = (isList ? listOf(found) : [cutValue(found)]).filter(
      (value) => isValue(value) && (fits?.(value) ?? true),
    )
    return values.map((value) => ({ entity, attribute, value }))
  }
  const noun = isA.exec(rest)?.[1]
  return noun === undefined ? undefined : personFact(entity, noun)
}

/** "My favourite colour is blue", "my name is Max". */
export function readOwnAttribute(clause: string): PlainFact[] | undefined {
  const match = ownAttribute.exec(clause)
  return match ? attributeFact('user', match[1] ?? '', match[2] ?? '') : undefined
}

/** "Bea and Tom are marine biologists." */
export function readPlural(clause: string): PlainFact[] | undefined {
  const match = new RegExp(`^(${namePattern})(?:, (${namePattern}))? and (${namePattern}) are (.+)s$`, 'u').exec(clause)
  if (!match) return undefined
  const [, first = '', second, third = '', noun = ''] = match
  return [first, ...(second ? [second] : []), third].flatMap((entity) => personFact(entity, noun) ?? [])
}

/** Who is who: "my sister is called Anna", "Anna is my sister", "I have a dog called Rex". */
function readIntroduction({ entity, relation, name, rest }: Person): PlainFact[] | undefined {
  const theirName = called.exec(rest)?.[1]
  if (relation !== undefined && name === undefined && theirName !== undefined && isPlainName(theirName)) {
    return [{ entity: 'user', attribute: relation, value: theirName }]
  }
  const mine = isMy.exec(rest)?.[1]
  if (mine !== undefined && entity !== 'user') return [{ entity: 'user', attribute: mine, value: entity }]
  const theirs = isTheirs.exec(rest)
  if (theirs && entity !== 'user') {
    return [{ entity: theirs[1] ?? theirs[2] ?? '', attribute: theirs[3] ?? '', value: entity }]
  }
  const own = has.exec(rest)
  if (!own) return undefined
  return listOf(own[2] ?? '')
    .filter(isPlainName)
    .map((value) => ({ entity, attribute: own[1] ?? '', value }))
}

function attributeFact(entity: string, attribute: string, text: string): PlainFact[] | undefined {
  const name = attribute.toLowerCase()
  const value = cutValue(text)
  if (!attributes.has(name) && !/^favou?rite /.test(name)) return undefined
  if (name === 'birthday' && !date.test(value)) return undefined
  return isValue(value) ? [{ entity, attribute: name, value }] : undefined
}

const suffix = /(?:ist|ian|eer|ster|or|er|ant|ent|man|woman)$/
const professions = new Set(
  `nurse vet chef cook pilot judge coach nun monk priest poet surgeon midwife clerk guide athlete architect diplomat
  mechanic ceo cto cfo intern spy witch rabbi imam vicar scribe sculptor barista model au-pair`.split(/\s+/),
)
const noProfessions = new Set(
  `accident argument apartment believer bother bummer cancer chapter color colour computer customer danger dealbreaker
  disaster door dreamer event failure favor favour flower goner killer layer letter loser lover matter member minister-of
  mirror moment monster number order outlier outsider parent paper plant player present problem quarter reminder restaurant
  river server sister brother mother father stranger summer supporter tent theatre thriller trooper water weather winner
  winter wonder`.split(/\s+/),
)
const hedged = /^(?:bit|little|great|big|huge|total|complete|real|such|kind|sort|lot|good|bad|former|would-be)\b/

/** "Is a marine biologist": what somebody does, where the noun is one for people who do something. */
function personFact(entity: string, text: string): PlainFact[] | undefined {
  const noun = cutValue(text).split(/ (?:at|in|for|from|with|on|by|near|here|there|now)(?= |$)/)[0] ?? ''
  const head = noun.split(' ').at(-1)?.toLowerCase() ?? ''
  const isProfession = professions.has(head) || (suffix.test(head) && !noProfessions.has(head))
  if (!isProfession || hedged.test(noun) || noun.split(' ').length > 4) return undefined
  return [{ entity, attribute: 'occupation', value: noun }]
}

const clauseEnd =
  /[;(]|, (?:and|but|so|which|who|where|because|though)\b| (?:but|because|so|since|who|which|when|while|though|whenever) | [-–—] /

// When it became so is not what it is.
const sinceWhen =
  / (?:(?:last|this|next) (?:year|month|week|spring|summer|autumn|fall|winter)|now|currently|recently|again|too|these days|at the moment|a (?:year|month|week) ago)$/

function cutValue(text: string): string {
  const end = text.search(clauseEnd)
  return (end < 0 ? text : text.slice(0, end))
    .replace(sinceWhen, '')
    .replace(/[\s,.!"”]+$/, '')
    .trim()
}

function listOf(text: string): string[] {
  return cutValue(text)
    .split(/, (?:and )?| and | & /)
    .map((item) => item.trim().replace(/^to (?=\p{L})/u, ''))
    .filter(Boolean)
}

function isValue(value: string): boolean {
  return value.length <= 80 && /[\p{L}\p{N}]/u.test(value)
}

function isLikeable(value: string): boolean {
  return !/^(?:it|you|that|this|these|those|them|him|her|how|what|when|where|your|myself|if)\b/i.test(value)
}
