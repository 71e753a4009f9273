import { contentWords } from '../../memory/content-words.ts'
import { haveOneStem } from '../../memory/learning/word-overlap.ts'
import { mentionsAny } from '../../memory/mentions.ts'
import type { ToolContext } from '../tool.ts'

const usersShare = 0.8
const mostWords = 1_000
// What `contentWords` reads of a text. Of a longer one it would compare only the beginning.
const readCharacters = 4_000
// A model writes "User likes tea" where the user says "I like tea".
const standIns = new Set(['user', 'users'])

/**
 * Whose note it is. The user's own is what they said themself in this turn: nearly all words of it are theirs. Everything
 * else is the agent's, whatever the model says of it.
 */
export function whoseWords(text: string, userText: string): 'user' | 'agent' {
  if (mentionsAny([text])(userText)) return 'user'
  if (text.length > readCharacters) return 'agent'
  return shareOf(tellingWordsOf(text), userText) >= usersShare ? 'user' : 'agent'
}

/**
 * Whose note it is and how far it is trusted. With words of others in sight a model may write them as its own: then only
 * what the user has said to the last word is theirs.
 */
export function originOf(
  text: string,
  { userText, seen }: Pick<ToolContext, 'userText' | 'seen'>,
): { source: 'user' | 'agent'; label?: 'untrusted' } {
  if (!seen.untrusted) return { source: whoseWords(text, userText) }
  return saidByUser(text, userText) ? { source: 'user' } : { source: 'agent', label: 'untrusted' }
}

/** All that the text tells is in what the user said. */
export function saidByUser(text: string, userText: string): boolean {
  return (
    mentionsAny([text])(userText) || (text.length <= readCharacters && shareOf(tellingWordsOf(text), userText) === 1)
  )
}

/** What part of the words the text holds, in whatever form; none of no words. */
export function shareOf(words: readonly string[], text: string): number {
  if (words.length === 0) return 0
  const there = contentWords(text, mostWords)
  return words.filter((word) => there.some((other) => haveOneStem(word, other))).length / words.length
}

export function tellingWordsOf(text: string): string[] {
  return contentWords(text, mostWords).filter((word) => !standIns.has(word))
}
