import { formatDay } from '../../base/clock.ts'
import { monthWord, readDeadline } from '../dates.ts'
import { splitSentences, wordLists, wordSet } from '../words.ts'
import type { Learned, LearnedAlias, LearnedCommitment, LearnedFact } from './extraction.ts'
import { holdsSecret } from './write-learned.ts'

type PlainFact = Omit<LearnedFact, 'confidence'>

interface PlainStatements extends Learned {
  ended: readonly PlainFact[]
  /** Attributes with several values at once. */
  multiValued: readonly string[]
}

/** Read by form, not understood. */
const confidence = 0.7
const readCharacters = 8_000
const maxSentences = 40
const maxSentenceLength = 300

const courtesy =
  /^(?:please|remember|note|do not forget|don['’]t forget|keep in mind|by the way|btw|fyi|for your information|also|and|so|well|oh|hi|hello|hey|ok|okay|actually|just)(?:[,:.!]+\s*|\s+)(?:that\s+)?/i
const question =
  /[?？]|^(?:what|when(?! i say)|where|which|who|whom|whose|why|how|is|are|am|do|does|did|can|could|would|will|should|has|have)\b/i
const unsure =
  /\b(?:if|maybe|perhaps|might|may have|whether|suppose|imagine|probably|possibly|unless|wish|wished|pretend|used to|said|says|claims|claimed|thinks|asked|not|never|nobody|no longer|no)\b|n['’]t\b|["“”]/i
const dislike = /\b(?:do not|don['’]t|does not|doesn['’]t) like\b|\b(?:cannot|can['’]t|can not) stand\b/i
const clauseBreak = /;\s+|:\s+(?=(?:I|my|she|he|we|they)\b)|,?\s(?:and|but)\s(?=(?:I|my|she|he|we|they)\b)/
const nowadays = /,?\s(?:now|nowadays|these days|currently|at the moment|from now on|since then)$/i
/**
 * "I am no longer …", "I do not … any more", "I used to …": without these words the sentence states the former fact.
 */
const over = /\b(?:no longer|any ?more|any longer|used to)\b/i
const overWords =
  /\s(?:no longer|any ?more|any longer|not)\b|\s(?:do|does|did)(?: not|n't)\b|(?<=\b(?:am|is|are))n't\b|\bused to(?= )/gi

/**
 * Facts, promises and aliases that the text states plainly, in English. It prefers to miss one over inventing one:
 * questions, suppositions, denials and quotes are not read. `at` is when it was said.
 */
export function readPlainStatements(text: string, at: number, timeZone: string): PlainStatements {
  const facts: PlainFact[] = []
  const commitments: LearnedCommitment[] = []
  const aliases: LearnedAlias[] = []
  const sentences = sentencesOf(text)
  for (const clause of clausesOf(sentences.filter((sentence) => !over.test(sentence)))) {
    const alias = readPlainAlias(clause)
    if (alias) {
      aliases.push(alias)
      continue
    }
    const person = readPerson(clause)
    const stated = person && readPlainCommitment(person, at, timeZone)
    if (stated) commitments.push(stated.commitment)
    const told = stated ? [] : ((person && readPlainFacts(person)) ?? readPlural(clause) ?? readOwnAttribute(clause))
    if (!told) continue
    facts.push(...told)
    for (const { relation, name } of stated?.people ?? (person ? [person] : [])) {
      if (relation === undefined) continue
      // "My sister Anna" also says who the sister is.
      if (name !== undefined) facts.push({ entity: 'user', attribute: relation, value: name })
      if (isCalledByRelation(relation)) aliases.push({ alias: `my ${relation}`, entity: relation })
    }
  }
  const safeFacts = unique(facts).filter(({ attribute, value }) => !holdsSecret(`${attribute}: ${value}`))
  aliases.push(...safeFacts.flatMap(relationAlias))
  return {
    notes: [],
    facts: safeFacts.map((fact) => ({ ...fact, confidence })),
    commitments: unique(commitments).filter(({ what }) => !holdsSecret(what)),
    aliases: unique(aliases),
    ended: unique(clausesOf(sentences.filter((sentence) => over.test(sentence)).map(asIfTrue)).flatMap(statedBy)),
    episode: null,
    multiValued: safeFacts.some((fact) => fact.attribute === 'is') ? ['is'] : [],
  }
}

export function hasPlainStatements(text: string): boolean {
  const { facts, commitments, aliases, ended } = readPlainStatements(text, 0, 'UTC')
  return facts.length + commitments.length + aliases.length + ended.length > 0
}

function sentencesOf(text: string): string[] {
  return splitSentences(text.slice(0, readCharacters).replaceAll('’', "'"))
    .slice(0, maxSentences)
    .filter((sentence) => sentence.length <= maxSentenceLength)
    .map(withoutCourtesy)
    .filter((sentence) => !question.test(sentence))
}

/** "I do not live in Berlin any more" as "I live in Berlin". */
function asIfTrue(sentence: string): string {
  return sentence
    .replace(/\bused to be\b/i, 'am')
    .replace(overWords, '')
    .replace(/\s+/g, ' ')
    .trim()
}

function statedBy(clause: string): PlainFact[] {
  const person = readPerson(clause)
  return (person && readPlainFacts(person)) ?? readOwnAttribute(clause) ?? []
}

function clausesOf(sentences: readonly string[]): string[] {
  return sentences
    .map((sentence) => sentence.replace(dislike, 'dislike'))
    .filter((sentence) => !unsure.test(sentence))
    .flatMap((sentence) => sentence.split(clauseBreak))
    .map((clause) => clause.trim().replace(/[\s.!,…]+$/, ''))
    .map((clause) =>
      clause
        .replace(/^I'm\b/i, 'I am')
        .replace(/^I've\b/i, 'I have')
        .replace(nowadays, '')
        .replace(/\s+/g, ' '),
    )
    .filter(Boolean)
}

function withoutCourtesy(sentence: string): string {
  let rest = sentence
  for (let round = 0; round < 4; round += 1) {
    const found = courtesy.exec(rest)
    if (!found) break
    rest = rest.slice(found[0].length)
  }
  return rest
}

/** "sister" and "my sister" refer to the user's sister. */
function relationAlias({ entity, attribute, value }: PlainFact): LearnedAlias[] {
  if (entity !== 'user' || !isCalledByRelation(attribute)) return []
  return [
    { alias: attribute, entity: value },
    { alias: `my ${attribute}`, entity: attribute },
  ]
}

function unique<T>(items: readonly T[]): T[] {
  return [...new Map(items.map((item) => [JSON.stringify(item), item])).values()]
}

const nameWord = '(?!I\\b)\\p{Lu}[\\p{L}\\p{M}]*(?:-\\p{Lu}[\\p{L}\\p{M}]*)?'
/** A name as people write it: up to three capitalized words. */
const namePattern = `${nameWord}(?: ${nameWord}){0,2}`

/** Relations with one or few people, who can be called by it: "my sister". */
const close = [...wordSet('closeRelations')]
const distant = [...wordSet('distantRelations')]
const relations = ['best friend', ...close, ...distant]
const relationPattern = relations.join('|')

// Words at the start of sentences that are not names.
const noNames = wordSet('noNames')

interface Person {
  /** `user`, a name, or a relation such as `sister`. */
  entity: string
  /** The relation by which the user referred to them, and the name if both were given. */
  relation?: string
  name?: string
  /** The rest, without leading white space; a possessive keeps its apostrophe. */
  rest: string
}

const self = /^(?:I|i)(?=['’\s])/
const related = new RegExp(`^[Mm]y (${relationPattern})(?=[\\s,'’.]|$)(?:,? (${namePattern}))?(?=[\\s,'’.]|$)`, 'u')
const named = new RegExp(`^(${namePattern})(?=[\\s,'’.]|$)`, 'u')

/** The person that the text begins with; undefined if it cannot be identified. */
function readPerson(text: string): Person | undefined {
  const mine = self.exec(text)
  if (mine) return { entity: 'user', rest: text.slice(1).trimStart() }
  const kin = related.exec(text)
  if (kin) {
    const [all, relation = '', name] = kin
    const rest = text.slice(all.length).replace(/^,/, '').trimStart()
    return name === undefined ? { entity: relation, relation, rest } : { entity: name, relation, name, rest }
  }
  const name = named.exec(text)?.[1]
  if (name === undefined || noNames.has((name.split(' ')[0] ?? '').toLowerCase())) return undefined
  return { entity: name, rest: text.slice(name.length).trimStart() }
}

function isPlainName(text: string): boolean {
  return readPerson(text)?.entity === text
}

export function isRelation(attribute: string): boolean {
  return relations.includes(attribute.toLowerCase())
}

/** "My sister" stands for one person; "my friend" may be any of them. */
function isCalledByRelation(relation: string): boolean {
  return close.includes(relation)
}

const name = `(${namePattern})`
const oneWord = '(\\p{Lu}[\\p{L}\\p{M}-]*)'
const nickname = new RegExp(`^${name} is (?:short for|a nickname for|the nickname of|another name for) ${name}$`, 'u')
/** The entity comes before its alias. */
const aliasForms = [
  `${name}['’]s nickname is ${name}`,
  `${name} is (?:also )?(?:called|known as|nicknamed) ${name}`,
  `${name},? (?:aka|a\\.k\\.a\\.|also known as) ${name}`,
  `(?:I|We|Everyone|Everybody|People) (?:always |usually |just )?calls? ${oneWord} ${oneWord}`,
].map((form) => new RegExp(`^${form}$`, 'u'))
const meaning = new RegExp(`^(?:[Ww]hen I say|[Bb]y) ${name},? I mean (.+)$`, 'u')
const callsRelative = new RegExp(
  `^(?:I|We|Everyone|Everybody) (?:always |usually |just )?calls? (my .+) ${oneWord}$`,
  'u',
)

/** "Bea is short for Beatrice", "We call my sister Annie", "When I say Bea I mean Beatrice". */
function readPlainAlias(clause: string): LearnedAlias | undefined {
  const short = nickname.exec(clause)
  const match = short
    ? [short[0], short[2], short[1]]
    : aliasForms
        .values()
        .map((form) => form.exec(clause))
        .find(Boolean)
  if (match) {
    const [, entity = '', alias = ''] = match
    return isPlainName(alias) && isPlainName(entity) ? { alias, entity } : undefined
  }
  const meant = meaning.exec(clause)
  const relative = callsRelative.exec(clause)
  const [alias, other] = meant ? [meant[1], meant[2]] : [relative?.[2], relative?.[1]]
  if (alias === undefined || other === undefined) return undefined
  const person = readPerson(other)
  return person && person.entity !== 'user' && person.rest === '' ? { alias, entity: person.entity } : undefined
}

interface PlainCommitment {
  commitment: LearnedCommitment
  /** Everyone it names, for what is said about them in passing. */
  people: readonly Person[]
}

const owes = /^(?:still |also )?owes? (.+)$/
const promised = /^(?:have |has |had |also |just |already )*(promised|told|agreed|assured) (.+)$/
const duty = /^(?:still |also |really )?(?:have to|need to|must|have got to|['’]ve got to|am supposed to) (.+)$/
const wouldDo = /^(?:that )?(?:I|i|he|she|they|we)(?:['’]d|['’]ll| would| will) (.+)$/
const toDo = /^to (.+)$/
const thing = /^(?:(?:a|an|the|my|our|some|one|two|three|another) |[\d€$£]).+/

/** A debt or a promise in the clause, of the person that it began with. */
function readPlainCommitment(person: Person, at: number, timeZone: string): PlainCommitment | undefined {
  const who = person.entity
  const debt = owes.exec(person.rest)?.[1]
  if (debt !== undefined) return finish(readDebt(debt, who))
  const promise = promised.exec(person.rest)
  if (promise) return finish(readPromise(promise[1] ?? '', promise[2] ?? '', who))
  const task = who === 'user' ? duty.exec(person.rest)?.[1] : undefined
  if (task === undefined || !readDeadline(task, at, timeZone)?.isFirm) return undefined
  return finish({ what: task, toWhom: null, people: [] })

  function finish(stated: Stated | undefined): PlainCommitment | undefined {
    if (!stated) return undefined
    const due = readDeadline(stated.what, at, timeZone)
    const what = (due?.rest ?? stated.what).replace(/[\s,.!]+$/, '')
    if (what.length < 2 || what.length > 200 || /^(?:it|that|this|him|her|them|nothing|everything)$/i.test(what)) {
      return undefined
    }
    const deadline = due ? formatDay(due.day) : null
    return { commitment: { who, toWhom: stated.toWhom, what, deadline }, people: [person, ...stated.people] }
  }
}

interface Stated {
  what: string
  toWhom: string | null
  people: readonly Person[]
}

/** "Tom 20 euros for lunch", "20 euros to Tom", "me a book". */
function readDebt(text: string, who: string): Stated | undefined {
  const me = /^(?:me|us) (.+)$/.exec(text)?.[1]
  if (me !== undefined) return who === 'user' ? undefined : { what: me, toWhom: 'user', people: [] }
  const creditor = readPerson(text)
  if (creditor && creditor.entity !== 'user') {
    return thing.test(creditor.rest) ? { what: creditor.rest, toWhom: creditor.entity, people: [creditor] } : undefined
  }
  const place = text.lastIndexOf(' to ')
  const after = place < 0 ? undefined : readPerson(text.slice(place + 4))
  if (!after || after.entity === 'user' || !thing.test(text)) return undefined
  return { what: `${text.slice(0, place)} ${after.rest}`.trim(), toWhom: after.entity, people: [after] }
}

/** "my sister to send the photos", "me that she would call", "to call Anna", "Tom the book". */
function readPromise(verb: string, text: string, who: string): Stated | undefined {
  const me = who === 'user' ? undefined : /^(?:me|us) (.+)$/.exec(text)?.[1]
  const direct = wouldDo.exec(text) ?? (verb === 'told' || verb === 'assured' ? null : toDo.exec(text))
  if (direct) return { what: direct[1] ?? '', toWhom: who === 'user' ? null : 'user', people: [] }
  const named = me === undefined ? readPerson(text.replace(/^with /, '')) : undefined
  const rest = me ?? named?.rest
  if (rest === undefined || named?.entity === 'user') return undefined
  const what =
    (wouldDo.exec(rest) ?? (verb === 'told' ? null : toDo.exec(rest)))?.[1] ??
    (verb === 'promised' && thing.test(rest) ? rest : undefined)
  return what === undefined ? undefined : { what, toWhom: named?.entity ?? 'user', people: named ? [named] : [] }
}

/** "Tea and coffee" is two in a list. */
type Form = [pattern: RegExp, attribute: string, options?: { isList?: true; fits?(value: string): boolean }]

const traits =
  'vegetarian|vegan|pescatarian|diabetic|coeliac|celiac|asthmatic|dyslexic|lactose intolerant|gluten intolerant|left-handed|right-handed|colou?r-?blind|deaf|blind|pregnant|married|divorced|widowed|single|retired|Muslim|Jewish|Christian|Catholic|Buddhist|Hindu'
const date = new RegExp(
  `^(?:the )?\\d{1,2}(?:st|nd|rd|th)?(?: of)? ${monthWord}|^${monthWord} \\d{1,2}|^\\d{4}-\\d{2}-\\d{2}`,
  'i',
)
const be = '(?:am|is)'

const likeableList = { isList: true, fits: isLikeable } as const

const plainFactsForms: readonly Form[] = [
  [new RegExp(`^${be} allergic to (.+)$`), 'allergic to', { isList: true }],
  [new RegExp(`^${be} married to (.+)$`), 'married to', { fits: isPlainName }],
  [new RegExp(`^(?:${be}|comes?) from (.+)$`), 'from', { fits: isPlainName }],
  [new RegExp(`^${be} (?:an? )?(${traits})$`), 'is'],
  [new RegExp(`^${be} (\\d{1,3})(?: years old)?$`), 'age'],
  [/^(?:was|am) born on (.+)$/, 'birthday', { fits: (value) => date.test(value) }],
  [/^(?:was|am) born in (.+)$/, 'born in'],
  [/^(?:now )?lives? (?:in|at) (.+)$/, 'lives in'],
  [/^(?:have |has |just |have just |has just )?moved to (.+)$/, 'lives in'],
  [/^(?:now )?works? as (?:an? |the )?([^,;]+?)(?: (?:at|in|for|with) .+)?$/, 'occupation'],
  [/^(?:now )?works? (?:at|for) (.+)$/, 'works at'],
  [/^speaks? (.+)$/, 'speaks', { isList: true, fits: (value) => /^\p{Lu}/u.test(value) }],
  [/^plays? (?:the )?(piano|guitar|violin|cello|drums|flute|chess|tennis|football|basketball)$/, 'plays'],
  [/^(?:really |also |absolutely )?(?:likes?|loves?|enjoys?|adores?) (.+)$/, 'likes', likeableList],
  [/^(?:really |also )?prefers? (.+)$/, 'prefers', { fits: isLikeable }],
  [/^(?:really |also )?(?:hates?|dislikes?|detests?) (.+)$/, 'dislikes', likeableList],
]

const possessive = /^['’]s (\p{L}[\p{L} -]{1,30}) (?:is|are) (?:on )?(.+)$/u
const ownAttribute = /^my (\p{L}[\p{L} -]{1,30}) (?:is|are) (?:on )?(.+)$/iu
const attributes = new Set(wordLists.personAttributes.split(', '))
const called = new RegExp(`^(?:['’]s name is|${be} called|${be} named|is) (${namePattern})$`, 'u')
const isMy = new RegExp(`^is my (${relationPattern})$`)
const isTheirs = new RegExp(`^is (?:my (${relationPattern})|(${namePattern}))['’]s (${relationPattern})$`, 'u')
const has = new RegExp(
  `^(?:have|has|have got|has got) (?:an?|one|two|three|four) (${relationPattern})s? (?:who is |that is )?(?:called|named) (.+)$`,
)
const isA = new RegExp(`^${be} (?:now )?an? (.+)$`)

/** Statements about the person that the clause began with. Undefined if the form is not supported. */
function readPlainFacts(person: Person): PlainFact[] | undefined {
  const { entity, rest } = person
  const introduced = readIntroduction(person)
  if (introduced) return introduced
  const owned = possessive.exec(rest)
  if (owned) return attributeFact(entity, owned[1] ?? '', owned[2] ?? '')
  for (const [pattern, attribute, { isList, fits = () => true } = {}] of plainFactsForms) {
    const found = pattern.exec(rest)?.[1]
    if (found === undefined) continue
    const values = isList ? listOf(found) : [cutValue(found)]
    return values.filter((value) => isValue(value) && fits(value)).map((value) => ({ entity, attribute, value }))
  }
  const noun = isA.exec(rest)?.[1]
  return noun === undefined ? undefined : personFact(entity, noun)
}

/** "My favourite colour is blue", "my name is Max". */
function readOwnAttribute(clause: string): PlainFact[] | undefined {
  const match = ownAttribute.exec(clause)
  return match ? attributeFact('user', match[1] ?? '', match[2] ?? '') : undefined
}

/** "Bea and Tom are marine biologists." */
function readPlural(clause: string): PlainFact[] | undefined {
  const match = new RegExp(`^(${namePattern})(?:, (${namePattern}))? and (${namePattern}) are (.+)s$`, 'u').exec(clause)
  if (!match) return undefined
  const [, first = '', second, third = '', noun = ''] = match
  return [first, ...(second ? [second] : []), third].flatMap((entity) => personFact(entity, noun) ?? [])
}

/** Introductions: "my sister is called Anna", "Anna is my sister", "I have a dog called Rex". */
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
const professions = wordSet('professions')
const noProfessions = wordSet('noProfessions')
const hedged = /^(?:bit|little|great|big|huge|total|complete|real|such|kind|sort|lot|good|bad|former|would-be)\b/

/** "Is a marine biologist": an occupation, if the noun is one for people. */
function personFact(entity: string, text: string): PlainFact[] | undefined {
  const noun = cutValue(text).split(/ (?:at|in|for|from|with|on|by|near|here|there|now)(?= |$)/)[0] ?? ''
  const head = noun.split(' ').at(-1)?.toLowerCase() ?? ''
  const isProfession = professions.has(head) || (suffix.test(head) && !noProfessions.has(head))
  if (!isProfession || hedged.test(noun) || noun.split(' ').length > 4) return undefined
  return [{ entity, attribute: 'occupation', value: noun }]
}

const clauseEnd =
  /[;(]|, (?:and|but|so|which|who|where|because|though)\b| (?:but|because|so|since|who|which|when|while|though|whenever) | [-–—] /

// The start date is not part of the value.
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
