import { FamiliarError } from '../protocol/error.ts'
import type { Database } from '../storage/database.ts'
import { foldedWords, foldText } from './fold-text.ts'
import { forgetInConversations } from './forget-in-conversations.ts'
import { forgetInWork } from './forget-in-work.ts'
import { forgetMemories } from './forget-memories.ts'
import { forgetNames } from './forget-names.ts'
import type { Forgetting } from './forgetting.ts'
import type { Memories } from './memories.ts'
import { mentionsAny } from './mentions.ts'
import { ownNamesOf } from './resolve-names.ts'

const shortestPhrase = 2

/**
 * Everything of one user that mentions something, by any of its own names: memories with all that hangs on them, the
 * journal of changes, names, and the words in that user's conversations. Then the file itself is rid of it.
 *
 * It reads all that the user has. What is said meanwhile may stay.
 */
export async function forgetEverything(options: {
  database: Database
  memories: Memories
  userId: string
  about: string
  signal?: AbortSignal | undefined
  /** Whoever keeps these sessions in memory has to read them anew: else a snapshot would bring it all back. */
  onSessionsChanged(sessionIds: readonly string[]): void
}): Promise<{ memories: number; events: number }> {
  const { database, userId, about, signal } = options
  if (foldText(about).length < shortestPhrase) {
    throw new FamiliarError('bad_request', 'Say in at least two characters what is to be forgotten')
  }
  const names = await ownNamesOf(database.read, userId, about)
  const phrases = [about, ...names.values()]
  const words = new Set(phrases.flatMap(foldedWords))
  const forgetting: Forgetting = { database, userId, mentions: mentionsAny(phrases), words, signal }
  // The conversations first: what was said a moment ago is yet to become a memory, and is read from there.
  const { events, sessionIds } = await forgetInConversations(forgetting)
  options.onSessionsChanged(sessionIds)
  await forgetInWork(forgetting)
  const memories = await forgetMemories(forgetting, options.memories)
  await forgetNames(forgetting)
  await database.scrub(signal)
  return { memories, events }
}
