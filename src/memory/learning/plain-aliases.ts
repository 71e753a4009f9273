import type { LearnedAlias } from './learned.ts'
import { isPlainName, namePattern, readPerson } from './plain-people.ts'

const name = `(${namePattern})`
const oneWord = '(\\p{Lu}[\\p{L}\\p{M}-]*)'
const forms: readonly { pattern: RegExp; aliasFirst: boolean }[] = [
  {
    pattern: new RegExp(`^${name} is (?:short for|a nickname for|the nickname of|another name for) ${name}$`, 'u'),
    aliasFirst: true,
  },
  { pattern: new RegExp(`^${name}['’]s nickname is ${name}$`, 'u'), aliasFirst: false },
  { pattern: new RegExp(`^${name} is (?:also )?(?:called|known as|nicknamed) ${name}$`, 'u'), aliasFirst: false },
  { pattern: new RegExp(`^${name},? (?:aka|a\\.k\\.a\\.|also known as) ${name}$`, 'u'), aliasFirst: false },
  {
    pattern: new RegExp(
      `^(?:I|We|Everyone|Everybody|People) (?:always |usually |just )?calls? ${oneWord} ${oneWord}$`,
      'u',
    ),
    aliasFirst: false,
  },
]
const meaning = new RegExp(`^(?:[Ww]hen I say|[Bb]y) ${name},? I mean (.+)$`, 'u')
const callsRelative = new RegExp(
  `^(?:I|We|Everyone|Everybody) (?:always |usually |just )?calls? (my .+) ${oneWord}$`,
  'u',
)

/** "Bea is short for Beatrice", "We call my sister Annie", "When I say Bea I mean Beatrice". */
export function readPlainAlias(clause: string): LearnedAlias | undefined {
  for (const { pattern, aliasFirst } of forms) {
    const match = pattern.exec(clause)
    if (!match) continue
    const [, first = '', second = ''] = match
    const pair = aliasFirst ? { alias: first, entity: second } : { alias: second, entity: first }
    return isPlainName(pair.alias) && isPlainName(pair.entity) ? pair : undefined
  }
  const meant = meaning.exec(clause)
  const relative = callsRelative.exec(clause)
  const [alias, other] = meant ? [meant[1], meant[2]] : [relative?.[2], relative?.[1]]
  if (alias === undefined || other === undefined) return undefined
  const person = readPerson(other)
  return person && person.entity !== 'user' && person.rest === '' ? { alias, entity: person.entity } : undefined
}
