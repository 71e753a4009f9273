import { contentWords } from './content-words.ts'
import { foldedWords } from './fold-text.ts'

const mostTopics = 3
const shortest = 3
// Words that say when, how or in what tone something is wanted, not what.
const weak = new Set(
  `again ask back bad bit call check day do find get give go going good great hello help here hey hi hour know last let
  like look make maybe minute month morning need new next nice ok okay one really right say see set show something soon
  start stop take tell thank thing think time today tomorrow tonight try use want way week work year yes yesterday`.split(
    /\s+/,
  ),
)

/** What a message is about, in its strongest words: the longest are the rarest, names and numbers aside. */
export function topicsOf(text: string): string[] {
  const words = contentWords(text)
    .flatMap(foldedWords)
    .filter((word) => word.length >= shortest && !weak.has(word) && !/\p{N}/u.test(word))
  return [...new Set(words)].toSorted((a, b) => b.length - a.length).slice(0, mostTopics)
}
