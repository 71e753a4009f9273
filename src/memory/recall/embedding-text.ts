import type { EmbeddingText } from '../embedding/embed-batch.ts'
import type { KnownSpeakers } from './speaker-names.ts'

/** What of a memory is embedded: its title and content, without the names of those who speak. */
export function createEmbeddingText(speakers: KnownSpeakers): EmbeddingText {
  return async ({ userId, title, content }) => {
    const names = await speakers.of(userId)
    return names.takenOut(title === null ? content : `${title}\n${content}`)
  }
}
