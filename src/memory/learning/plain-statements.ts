import { holdsSecret } from './holds-secret.ts'
import type { Learned, LearnedAlias, LearnedCommitment, LearnedFact } from './learned.ts'
import { readPlainAlias } from './plain-aliases.ts'
import { readPlainCommitment } from './plain-commitments.ts'
import { type PlainFact, readOwnAttribute, readPlainFacts, readPlural } from './plain-facts.ts'
import { isCalledByRelation, type Person, readPerson } from './plain-people.ts'
import { splitSentences } from './split-sentences.ts'

/** What a text states in so many words, read by its form. */
export interface PlainStatements {
  facts: readonly LearnedFact[]
  commitments: readonly LearnedCommitment[]
  aliases: readonly LearnedAlias[]
  /** Attributes that hold several values at once. */
  multiValued: readonly string[]
}

/** Read by form, not understood. */
const confidence = 0.7
const readCharacters = 8_000
const mostSentences = 40
const longestSentence = 300

const courtesy =
  /^(?:please|remember|note|do not forget|don['’]t forget|keep in mind|by the way|btw|fyi|for your information|also|and|so|well|oh|hi|hello|hey|ok|okay|actually|just)(?:[,:.!]+\s*|\s+)(?:that\s+)?/i
const question =
  /[?？]|^(?:what|when(?! i say)|where|which|who|whom|whose|why|how|is|are|am|do|does|did|can|could|would|will|should|has|have)\b/i
const unsure =
  /\b(?:if|maybe|perhaps|might|may have|whether|suppose|imagine|probably|possibly|unless|wish|wished|pretend|used to|said|says|claims|claimed|thinks|asked|not|never|nobody|no longer|no)\b|n['’]t\b|["“”]/i
const dislike = /\b(?:do not|don['’]t|does not|doesn['’]t) like\b|\b(?:cannot|can['’]t|can not) stand\b/i
const clauseBreak = /;\s+|,?\s(?:and|but)\s(?=(?:I|my|she|he|we|they)\b)/

/**
 * Facts, promises and other names that the text states plainly, in English. It would rather miss one than make one up:
 * questions, suppositions, denials and what somebody else said are not read. `at` is when it was said.
 */
export function readPlainStatements(text: string, at: number, timeZone: string): PlainStatements {
  const facts: PlainFact[] = []
  const commitments: LearnedCommitment[] = []
  const aliases: LearnedAlias[] = []
  for (const clause of clausesOf(text)) {
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
    for (const someone of stated?.people ?? (person ? [person] : [])) {
      facts.push(...introducedBy(someone))
      aliases.push(...namesOf(someone))
    }
  }
  const safeFacts = unique(facts).filter(({ attribute, value }) => !holdsSecret(`${attribute}: ${value}`))
  aliases.push(...safeFacts.flatMap(relationAlias))
  return {
    facts: safeFacts.map((fact) => ({ ...fact, confidence })),
    commitments: unique(commitments).filter(({ what }) => !holdsSecret(what)),
    aliases: unique(aliases),
    multiValued: safeFacts.some((fact) => fact.attribute === 'is') ? ['is'] : [],
  }
}

export function hasPlainStatements(text: string): boolean {
  const { facts, commitments, aliases } = readPlainStatements(text, 0, 'UTC')
  return facts.length + commitments.length + aliases.length > 0
}

export function learnedFrom({ facts, commitments, aliases }: PlainStatements): Learned {
  return { notes: [], facts, commitments, aliases, episode: null }
}

function clausesOf(text: string): string[] {
  return splitSentences(text.slice(0, readCharacters).replaceAll('’', "'"))
    .slice(0, mostSentences)
    .filter((sentence) => sentence.length <= longestSentence)
    .map(withoutCourtesy)
    .filter((sentence) => !question.test(sentence))
    .map((sentence) => sentence.replace(dislike, 'dislike'))
    .filter((sentence) => !unsure.test(sentence))
    .flatMap((sentence) => sentence.split(clauseBreak))
    .map((clause) => clause.trim().replace(/[\s.!,…]+$/, ''))
    .map((clause) =>
      clause
        .replace(/^I'm\b/i, 'I am')
        .replace(/^I've\b/i, 'I have')
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

/** "My sister Anna" says by the way who the sister is. */
function introducedBy({ relation, name }: Person): PlainFact[] {
  return relation !== undefined && name !== undefined ? [{ entity: 'user', attribute: relation, value: name }] : []
}

function namesOf({ relation }: Person): LearnedAlias[] {
  return relation !== undefined && isCalledByRelation(relation) ? [{ alias: `my ${relation}`, entity: relation }] : []
}

/** Whoever is the user's sister is meant by "sister" and "my sister". */
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
