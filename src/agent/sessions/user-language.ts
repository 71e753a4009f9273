import { type Language, languageOfTexts } from '../../base/languages.ts'
import type { Projection } from './projection.ts'

const readEntries = 20

/**
 * The language of the user in a conversation: of the newest of their own messages that shows one. Untrusted text does
 * not count, because it must not choose how the user is asked. English if no message shows a language.
 */
export function languageIn({ entries }: Pick<Projection, 'entries'>): Language {
  return languageOfTexts(ownTexts(entries))
}

function* ownTexts(entries: Projection['entries']): Generator<string> {
  let read = 0
  for (let at = entries.length - 1; at >= 0 && read < readEntries; at -= 1) {
    const entry = entries[at]
    // The label of a chosen option is the model's.
    if (entry?.role !== 'user' || entry.isOthers || entry.isChoice) continue
    read += 1
    yield* entry.texts.toReversed()
  }
}
