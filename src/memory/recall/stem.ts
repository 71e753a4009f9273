/**
 * The stem of a lower-case English word, after M. F. Porter's algorithm: words that belong together ("painted",
 * "painting") have the same one. It is not always a word. Words of other alphabets stay as they are.
 */
export function stem(word: string): string {
  const known = stems.get(word)
  if (known !== undefined) return known
  if (word.length < 3 || word.length > longestWord || !/^[a-z]+$/.test(word)) return word
  // The whole memory of a talkative year holds some 20,000 different words.
  if (stems.size >= mostStems) stems.clear()
  const found = [plural, pastAndGerund, lastY, ...suffixSteps, lastE].reduce((stemmed, step) => step(stemmed), word)
  stems.set(word, found)
  return found
}

const stems = new Map<string, string>()
const mostStems = 30_000
const longestWord = 40

const vowel = '[aeiouy]'
const consonants = '[^aeiou][^aeiouy]*'
const vowels = '[aeiouy][aeiou]*'
/** At the beginning of a word, y is a consonant. */
const start = `^(?:${consonants}|(?!y))`
const hasVowel = /[aeiou]|.y/
/** At least one, exactly one, more than one vowel–consonant pair. */
const oneOrMore = new RegExp(`${start}${vowels}${consonants}`)
const justOne = new RegExp(`${start}${vowels}${consonants}(?:${vowels})?$`)
const moreThanOne = new RegExp(`${start}${vowels}${consonants}${vowels}${consonants}`)
const endsShort = new RegExp(`^${consonants}${vowel}[^aeiouwxy]$`)

/** Something has to stand before it. */
function hasEnding(word: string, ending: string): boolean {
  return word.length > ending.length && word.endsWith(ending)
}

function plural(word: string): string {
  if (hasEnding(word, 'sses') || hasEnding(word, 'ies')) return word.slice(0, -2)
  return word.endsWith('s') && !word.endsWith('ss') ? word.slice(0, -1) : word
}

function pastAndGerund(word: string): string {
  if (hasEnding(word, 'eed')) return oneOrMore.test(word.slice(0, -3)) ? word.slice(0, -1) : word
  const suffix = word.endsWith('ed') ? 'ed' : word.endsWith('ing') ? 'ing' : ''
  const base = word.slice(0, -suffix.length)
  if (suffix === '' || !hasVowel.test(base)) return word
  if (/(?:at|bl|iz)$/.test(base)) return `${base}e`
  if (/([^aeioulsz])\1$/.test(base)) return base.slice(0, -1)
  return endsShort.test(base) ? `${base}e` : base
}

function lastY(word: string): string {
  return word.endsWith('y') && hasVowel.test(word.slice(0, -1)) ? `${word.slice(0, -1)}i` : word
}

const suffixSteps = [
  replaceSuffix(
    oneOrMore,
    `ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize ation:ate
    ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble logi:log`,
  ),
  replaceSuffix(oneOrMore, 'icate:ic ative: alize:al iciti:ic ical:ic ful: ness:'),
  replaceSuffix(
    moreThanOne,
    `ement: ance: ence: able: ible: ment: ion::st ant: ent: ism: ate: iti: ous: ive: ize: al: er: ic: ou:`,
  ),
]

/**
 * The longest suffix that fits is replaced, where what stands before it is long enough. Each entry is the suffix, what
 * takes its place, and, where not all will do, the letters that it must follow.
 */
function replaceSuffix(enough: RegExp, table: string): (word: string) => string {
  const pairs = table
    .split(/\s+/)
    .map((pair) => pair.split(':'))
    .map(([suffix = '', replacement = '', after = '']) => ({ suffix, replacement, after }))
    .sort((a, b) => b.suffix.length - a.suffix.length)
  return (word) => {
    const pair = pairs.find(({ suffix }) => word.endsWith(suffix))
    if (!pair) return word
    const base = word.slice(0, -pair.suffix.length)
    const follows = pair.after === '' || pair.after.includes(base.at(-1) ?? ' ')
    return follows && enough.test(base) ? base + pair.replacement : word
  }
}

function lastE(word: string): string {
  let stemmed = word
  if (stemmed.endsWith('e')) {
    const base = stemmed.slice(0, -1)
    if (moreThanOne.test(base) || (justOne.test(base) && !endsShort.test(base))) stemmed = base
  }
  return stemmed.endsWith('ll') && moreThanOne.test(stemmed) ? stemmed.slice(0, -1) : stemmed
}
