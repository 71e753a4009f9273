import type { Database } from '../storage/database.ts'
import { isUnspaced } from '../storage/words.ts'
import { type Memories, memoryCollection } from './memories.ts'
import type { Memory } from './memory.ts'
import { contentWords, foldedWords, splitPassages } from './words.ts'

// About 400 tokens: an embedding reads 512 and ignores the rest. In scripts without spaces a letter is a token.
const maxSpacedLength = 1_500
const maxUnspacedLength = 450
const overlapShare = 8

/**
 * The passages by which a long text is searched, each beginning with the end of the previous one, so that text at a cut
 * is found in one piece. A text of normal length is its only passage.
 */
export function notePassages(text: string): string[] {
  if (text.length <= maxUnspacedLength) return [text]
  const longest = isMostlyUnspaced(text) ? maxUnspacedLength : maxSpacedLength
  if (text.length <= longest) return [text]
  const overlap = Math.floor(longest / overlapShare)
  const passages = splitPassages(text, longest - overlap)
  return passages.map((passage, index) => {
    const before = index === 0 ? '' : endOf(passages[index - 1] ?? '', overlap)
    return before === '' ? passage : `${before} ${passage}`
  })
}

/** Its last words, within `limit` characters. */
function endOf(text: string, limit: number): string {
  const end = text.slice(-limit)
  const space = text.length > limit ? end.search(/\s/) : -1
  return end.slice(space + 1).toWellFormed()
}

const sampled = 2_000

function isMostlyUnspaced(text: string): boolean {
  const sample = text.slice(0, sampled)
  // Nearly every text: a cheap check.
  if (!isUnspaced(sample)) return false
  let unspaced = 0
  for (const letter of sample) if (isUnspaced(letter)) unspaced += 1
  return unspaced * 3 > sample.length
}

const maxCandidates = 50
const maxWords = 64
const sharedWords = 0.8

/** Whether a text only repeats a memory: it contains nearly all of its words. A single word is not enough. */
export function repetitionOf(content: string): (text: string) => boolean {
  const wanted = new Set(contentWords(content, maxWords).flatMap(foldedWords))
  return (text) => wanted.size >= 2 && shareOf(wanted, text) >= sharedWords
}

/**
 * The repetitions of a memory: the passages of conversations that contain it, and extractions from them that say the
 * same.
 */
export async function findRepetitions(database: Database, memories: Memories, memory: Memory): Promise<Memory[]> {
  const words = contentWords(memory.content, maxWords)
  const repeats = repetitionOf(memory.content)
  const { userId } = memory
  const query = { collection: memoryCollection, userId, words: words.join(' '), limit: maxCandidates }
  const ids = (await database.textSearch.search(query)).map(({ id }) => id).filter((id) => id !== memory.id)
  const candidates = await memories.getMany(userId, ids)
  // Passages of files are the user's own documents, even if they repeat it.
  const rows = database.read.selectFrom('chunks').select('id').where('user_id', '=', userId)
  const ofFiles = new Set(ids.length > 0 ? (await rows.where('id', 'in', ids).execute()).map(({ id }) => id) : [])
  return candidates.filter((candidate) => {
    const isRepeated = candidate.kind === 'chunk' ? !ofFiles.has(candidate.id) : candidate.source === 'extracted'
    return isRepeated && repeats(candidate.content)
  })
}

function shareOf(wanted: ReadonlySet<string>, text: string): number {
  const there = new Set(foldedWords(text))
  let shared = 0
  for (const word of wanted) if (there.has(word)) shared += 1
  return shared / wanted.size
}
