import { toIndexKey } from '../storage/index-key.ts'

const accent = /(?<=[\p{sc=Latin}\p{sc=Greek}])[\u0300-\u036f]+/gu
const apostrophe = /[‘’ʼ´`]/g
const leadingSigns = ' "\'“”«»,;'
const trailingSigns = `${leadingSigns}.!?`
const word = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu
const usersOwnNames = new Set(['user', 'the user', 'me', 'i', 'myself'])

/**
 * The form in which names and values are compared: case, white space, accents, quotes and a full stop at the end make no
 * difference; every other sign does, so that C++ is not C#. Folding twice gives the same as folding once.
 */
export function foldText(text: string): string {
  return untilStable(text.toWellFormed(), foldOnce)
}

/** Of a person or thing. `user` is the user themself, however named. */
export function entityKey(name: string): string {
  const key = foldText(name)
  return usersOwnNames.has(key) ? 'user' : toIndexKey(key)
}

/** Of an attribute: besides, `-` and `_` are spaces, and a simple English plural is its singular. */
export function attributeKey(attribute: string): string {
  const folded = untilStable(foldText(attribute), (key) => {
    const spaced = foldText(key.replaceAll(/[_-]+/g, ' ')) || key
    return foldText(spaced.split(' ').map(singular).join(' '))
  })
  return toIndexKey(folded)
}

export function valueKey(value: string): string {
  return toIndexKey(foldValue(value))
}

/** Of what is owed. */
export function whatKey(what: string): string {
  return toIndexKey(foldText(what))
}

/** A fact's value: besides, a leading article does not count. */
export function foldValue(value: string): string {
  return untilStable(foldText(value), (key) => foldText(key.replace(/^(?:(?:an?|the) )+/, '')))
}

/** The words of a text in folded form, plurals as singulars, in order. */
export function foldedWords(text: string): string[] {
  return Array.from(foldText(text).matchAll(word), ([found]) => singular(found))
}

/** One thing folded can lay open another: a sign that unfolds to a capital. A few rounds reach the end. */
function untilStable(text: string, fold: (text: string) => string): string {
  let folded = text
  for (let round = 0; round < 8; round += 1) {
    const next = fold(folded)
    if (next === folded) break
    folded = next
  }
  return folded
}

function foldOnce(text: string): string {
  const plain = text.toLowerCase().normalize('NFKD').replace(accent, '').normalize('NFKC').replace(apostrophe, "'")
  const spaced = plain.replaceAll(/\s+/g, ' ').trim()
  // What consists of nothing but such signs is compared by them.
  return trimSigns(spaced) || spaced
}

/** By hand: a pattern for the end of a text takes quadratic time on a long run of such signs in its middle. */
function trimSigns(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && leadingSigns.includes(text.charAt(start))) start += 1
  while (end > start && trailingSigns.includes(text.charAt(end - 1))) end -= 1
  return text.slice(start, end)
}

/** A key to compare by, not a word to show: `movie` and `movies` both become `movy`. */
function singular(word: string): string {
  if (word.length < 4) return word
  if (word.length > 4 && word.endsWith('ies')) return `${word.slice(0, -3)}y`
  if (word.length > 4 && word.endsWith('ie')) return `${word.slice(0, -2)}y`
  if (/(?:ss|x|z|ch|sh)es$/.test(word)) return word.slice(0, -2)
  return /[^sui]s$/.test(word) ? word.slice(0, -1) : word
}
