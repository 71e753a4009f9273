import { type SeededRandom, seededRandom } from '../recall-scale/seeded-random.ts'

const folders = words(`
src lib test tests docs packages app apps core common utils internal public assets components pages hooks services models
views controllers routes config scripts build vendor third_party include modules plugins types schemas migrations fixtures
examples tools cmd pkg api server client web mobile desktop shared data images styles locales notes journal projects archive`)

const nouns = words(`
user account session token message channel thread memory index search query result parser lexer reader writer buffer stream
socket request response header cookie router route handler guard policy budget ledger invoice payment order product cart
customer address calendar event schedule task queue worker job cache store table column row schema migration backup restore
file folder path image video audio font icon button dialog menu list grid form field label theme layout page card chart map
date time zone number string array object error logger monitor metric trace report summary plan draft note meeting recipe
travel garden budget letter contract photo music book chapter index readme main setup package settings helper factory`)

const endings = words('ts tsx js json md py go rs c h cpp java rb css html txt yml toml sql sh svg png test.ts d.ts')

/** As many different paths as a tree of source and notes of this size could have; the same for the same seed. */
export function madePaths(count: number, seed: number): string[] {
  const random = seededRandom(seed)
  const paths = new Set<string>()
  // The same folders hold many files, as they do.
  const known: string[] = ['']
  while (paths.size < count) {
    if (known.length < count / 12 + 2 && random.chance(0.2)) known.push(`${random.pick(known)}${newFolder(random)}/`)
    paths.add(random.pick(known) + newName(random))
  }
  return [...paths]
}

function newFolder(random: SeededRandom): string {
  return random.chance(0.7) ? random.pick(folders) : `${random.pick(nouns)}-${random.pick(nouns)}`
}

function newName(random: SeededRandom): string {
  const parts = Array.from({ length: 1 + random.below(3) }, () => random.pick(nouns))
  if (random.chance(0.15)) parts.push(String(random.below(100)))
  const style = random.below(3)
  const stem =
    style === 0 ? parts.join('-') : style === 1 ? parts.join('_') : parts.map((part) => capitalised(part)).join('')
  return `${stem}.${random.pick(endings)}`
}

function capitalised(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}
