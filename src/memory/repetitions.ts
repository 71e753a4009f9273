import type { Database } from '../storage/database.ts'
import { contentWords } from './content-words.ts'
import { foldedWords } from './fold-text.ts'
import { type Memories, memoryCollection } from './memories.ts'
import type { Memory } from './memory.ts'

const mostCandidates = 50
const mostWords = 64
const sharedWords = 0.8

/** Whether a text merely repeats a memory: it holds nearly all of its words. One word alone says too little for that. */
export function repetitionOf(content: string): (text: string) => boolean {
  const wanted = new Set(contentWords(content, mostWords).flatMap(foldedWords))
  return (text) => wanted.size >= 2 && shareOf(wanted, text) >= sharedWords
}

/**
 * What merely repeats a memory: the passages of conversations that it was told in, and what was extracted from them that
 * says the same.
 */
export async function findRepetitions(database: Database, memories: Memories, memory: Memory): Promise<Memory[]> {
  const words = contentWords(memory.content, mostWords)
  const repeats = repetitionOf(memory.content)
  const { userId } = memory
  const matches = await database.textSearch.search({
    collection: memoryCollection,
    userId,
    words: words.join(' '),
    limit: mostCandidates,
  })
  const candidates = await memories.getMany(
    userId,
    matches.map((match) => match.id).filter((id) => id !== memory.id),
  )
  const ofFiles = await idsOfFiles(database, candidates)
  return candidates.filter((candidate) => {
    const isRepeated = candidate.kind === 'chunk' ? !ofFiles.has(candidate.id) : candidate.source === 'extracted'
    return isRepeated && repeats(candidate.content)
  })
}

/** Passages of files are the user's own documents, whatever they repeat. */
async function idsOfFiles(database: Database, candidates: readonly Memory[]): Promise<Set<string>> {
  const [first] = candidates
  if (!first) return new Set()
  const rows = await database.read
    .selectFrom('chunks')
    .select('id')
    .where('user_id', '=', first.userId)
    .where(
      'id',
      'in',
      candidates.map((candidate) => candidate.id),
    )
    .execute()
  return new Set(rows.map((row) => row.id))
}

function shareOf(wanted: ReadonlySet<string>, text: string): number {
  const there = new Set(foldedWords(text))
  let shared = 0
  for (const word of wanted) if (there.has(word)) shared += 1
  return shared / wanted.size
}
