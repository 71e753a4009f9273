import type { Json } from '../protocol/json.ts'
import { isUnspaced } from '../storage/unspaced-scripts.ts'
import { foldText } from './fold-text.ts'

/** Whether a text speaks of one of some names: folded, and as whole words where the script sets words apart. */
export type Mentions = (text: string) => boolean

const insideWord = /[\p{L}\p{N}\p{M}]/u

export function mentionsAny(names: readonly string[]): Mentions {
  const phrases = [...new Set(names.map(foldText))].filter((phrase) => phrase !== '')
  return (text) => {
    const folded = foldText(text)
    return phrases.some((phrase) => holdsPhrase(folded, phrase))
  }
}

/** In any string of it, names of properties included. */
export function isMentionedIn(value: Json, mentions: Mentions): boolean {
  if (typeof value === 'string') return mentions(value)
  if (value === null || typeof value !== 'object') return false
  if (Array.isArray(value)) return value.some((item) => isMentionedIn(item, mentions))
  return Object.entries(value).some(([key, item]) => mentions(key) || isMentionedIn(item, mentions))
}

function holdsPhrase(text: string, phrase: string): boolean {
  for (let at = text.indexOf(phrase); at >= 0; at = text.indexOf(phrase, at + 1)) {
    const before = [...text.slice(Math.max(0, at - 2), at)].at(-1)
    const after = [...text.slice(at + phrase.length, at + phrase.length + 2)][0]
    if (isEdge(before, phrase) && isEdge(after, phrase)) return true
  }
  return false
}

function isEdge(neighbour: string | undefined, phrase: string): boolean {
  return neighbour === undefined || !insideWord.test(neighbour) || isUnspaced(phrase)
}
