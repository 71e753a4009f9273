const nameWord = '(?!I\\b)\\p{Lu}[\\p{L}\\p{M}]*(?:-\\p{Lu}[\\p{L}\\p{M}]*)?'
/** A name as people write it: up to three words with a capital. */
export const namePattern = `${nameWord}(?: ${nameWord}){0,2}`

/** Of whom there is one, or few enough to be called by it: "my sister". */
const close = `son-in-law daughter-in-law mother-in-law father-in-law brother-in-law sister-in-law stepmother stepfather
  stepbrother stepsister grandmother grandma granny grandfather grandpa grandson granddaughter sister brother mother mum
  mom father dad son daughter wife husband partner girlfriend boyfriend fiancé fiancée fiance fiancee boss manager
  landlord landlady dentist doctor therapist dog cat horse rabbit parrot hamster`.split(/\s+/)
const distant =
  `best-friend friend colleague coworker cousin aunt uncle niece nephew neighbour neighbor roommate flatmate
  teacher coach student godmother godfather pet`.split(/\s+/)
const relations = ['best friend', ...close, ...distant]
export const relationPattern = relations.join('|')

// Words that begin sentences and are nobody's name.
const noNames = new Set(
  `a an all another any anyone anything april august before both breakfast but christmas coffee december dinner each easter
  every everyone everything february for friday from he her here his how i if in it its january july june life lunch many
  march may maybe monday most music my no nobody nothing november october on one our people rent saturday school september
  she so some someone something sunday tea that the their there these they this those thursday to today tomorrow tonight
  traffic tuesday we weather wednesday what when where which who why work yesterday yes you your`.split(/\s+/),
)

export interface Person {
  /** `user`, a name, or a relation such as `sister`. */
  entity: string
  /** The relation in which the user spoke of them, and the name where both were given. */
  relation?: string
  name?: string
  /** What follows, without leading white space; a possessive keeps its apostrophe. */
  rest: string
}

const self = /^(?:I|i)(?=['’\s])/
const related = new RegExp(`^[Mm]y (${relationPattern})(?=[\\s,'’.]|$)(?:,? (${namePattern}))?(?=[\\s,'’.]|$)`, 'u')
const named = new RegExp(`^(${namePattern})(?=[\\s,'’.]|$)`, 'u')

/** Whoever the text begins with; undefined where that is nobody who can be told apart. */
export function readPerson(text: string): Person | undefined {
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

/** Exactly a name and nothing else. */
export function isPlainName(text: string): boolean {
  return readPerson(text)?.entity === text
}

export function isRelation(attribute: string): boolean {
  return relations.includes(attribute.toLowerCase())
}

/** "My sister" stands for one person; "my friend" may be any of them. */
export function isCalledByRelation(relation: string): boolean {
  return close.includes(relation)
}
