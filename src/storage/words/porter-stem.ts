/**
 * The stem of a word in lower case by Martin Porter's algorithm of 1980, exactly as SQLite's FTS5 has it: bytes, not
 * letters, and words of fewer than 3 or more than 64 bytes stay as they are.
 */
export function porterStem(word: string): string {
  const isPlain = /^[a-z0-9]*$/.test(word)
  const bytes = isPlain ? word : Buffer.from(word).toString('latin1')
  if (bytes.length < 3 || bytes.length > 64) return word
  const stem = lastLetters(suffixes(firstSteps(bytes)))
  return isPlain ? stem : Buffer.from(stem, 'latin1').toString()
}

/** Plurals, -ed and -ing, and a final y. */
function firstSteps(word: string): string {
  const stem = withoutEdOrIng(withoutPlural(word))
  return stem.endsWith('y') && hasVowel(stem.slice(0, -1)) ? `${stem.slice(0, -1)}i` : stem
}

function withoutPlural(word: string): string {
  if (!word.endsWith('s') || word.endsWith('ss')) return word
  const losesTwo = (word.endsWith('sses') && word.length > 4) || (word.endsWith('ies') && word.length > 3)
  return word.slice(0, losesTwo ? -2 : -1)
}

function withoutEdOrIng(word: string): string {
  if (word.endsWith('eed') && word.length > 3) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word
  const ending = ['ed', 'ing'].find((end) => word.endsWith(end) && word.length > end.length)
  const stem = word.slice(0, -(ending?.length ?? 0))
  if (!ending || !hasVowel(stem)) return word
  if (/(at|bl|iz)$/.test(stem) && stem.length > 2) return `${stem}e`
  if (/([^aeioulsz])\1$/s.test(stem)) return stem.slice(0, -1)
  return measure(stem) === 1 && endsShort(stem) ? `${stem}e` : stem
}

type Suffix = readonly [ending: string, instead: string]

// By their last letter but one, as Porter has them: the first that fits decides, whether it is taken off or not.
const longSuffixes: readonly Suffix[] = [
  ['ational', 'ate'],
  ['tional', 'tion'],
  ['enci', 'ence'],
  ['anci', 'ance'],
  ['izer', 'ize'],
  ['logi', 'log'],
  ['bli', 'ble'],
  ['alli', 'al'],
  ['entli', 'ent'],
  ['eli', 'e'],
  ['ousli', 'ous'],
  ['ization', 'ize'],
  ['ation', 'ate'],
  ['ator', 'ate'],
  ['alism', 'al'],
  ['iveness', 'ive'],
  ['fulness', 'ful'],
  ['ousness', 'ous'],
  ['aliti', 'al'],
  ['iviti', 'ive'],
  ['biliti', 'ble'],
]
const middleSuffixes: readonly Suffix[] = [
  ['ical', 'ic'],
  ['ness', ''],
  ['icate', 'ic'],
  ['iciti', 'ic'],
  ['ful', ''],
  ['ative', ''],
  ['alize', 'al'],
]
const lastSuffixes = `al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize`.split(' ')

function suffixes(word: string): string {
  const stem = replaced(replaced(word, longSuffixes), middleSuffixes)
  const ending = lastSuffixes.find((end) => stem.endsWith(end) && stem.length > end.length)
  const rest = stem.slice(0, -(ending?.length ?? 0))
  if (!ending || measure(rest) < 2) return stem
  return ending !== 'ion' || /[st]$/.test(rest) ? rest : stem
}

function replaced(word: string, known: readonly Suffix[]): string {
  const found = known.find(([ending]) => word.endsWith(ending) && word.length > ending.length)
  if (!found) return word
  const stem = word.slice(0, -found[0].length)
  return measure(stem) > 0 ? stem + found[1] : word
}

/** A final e, and one of two l. */
function lastLetters(word: string): string {
  const stem = word.endsWith('e') && dropsE(word.slice(0, -1)) ? word.slice(0, -1) : word
  return stem.endsWith('ll') && measure(stem.slice(0, -1)) > 1 ? stem.slice(0, -1) : stem
}

function dropsE(stem: string): boolean {
  const count = measure(stem)
  return count > 1 || (count === 1 && !endsShort(stem))
}

/** Letter by letter: v for a vowel, c for a consonant. A y after a consonant is a vowel. */
function shape(word: string): string {
  let kinds = ''
  for (const letter of word) {
    const isVowel = 'aeiou'.includes(letter) || (letter === 'y' && kinds.endsWith('c'))
    kinds += isVowel ? 'v' : 'c'
  }
  return kinds
}

/** How often consonants follow vowels: Porter's m. */
function measure(stem: string): number {
  return shape(stem).match(/v+c/g)?.length ?? 0
}

function hasVowel(stem: string): boolean {
  return shape(stem).includes('v')
}

/** A consonant, a vowel and a consonant that is not w, x or y: Porter's *o. */
function endsShort(stem: string): boolean {
  return shape(stem).endsWith('cvc') && !/[wxy]$/.test(stem)
}
