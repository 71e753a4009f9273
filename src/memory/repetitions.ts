import type { Database } from '../storage/database.ts'
import { contentWords } from './content-words.ts'
import { foldedWords } from './fold-text.ts'
import { type Memories, memoryCollection } from './memories.ts'
import type { Memory } from './memory.ts'

const mostCandidates = 50
const sharedWords = 0.8

/**
 * What merely repeats a memory: the passages of conversations that it was told in, and what was extracted from them that
 * says the same. They hold nearly all of its words. One word alone says too little for that.
 */
export async function findRepetitions(database: Database, memories: Memories, memory: Memory): Promise<Memory[]> {
  const words = contentWords(memory.content, 64)
  const wanted = new Set(words.flatMap(foldedWords))
  if (wanted.size < 2) return []
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
    return isRepeated && shareOf(wanted, candidate.content) >= sharedWords
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
