import type { Database, Reader } from '../../storage/database.ts'
import { toVectorBytes } from '../../storage/vector-bytes.ts'
import { contentHash, type Memory } from '../memory.ts'
import type { Embedder } from './embedder.ts'

/** What of a memory is embedded: decided by whoever ranks. The same memory must always give the same text. */
export type EmbeddingText = (memory: Memory) => string | Promise<string>

interface Entry {
  memory: Memory
  text: string
  textHash: string
}

/**
 * Gives memories their vectors, in one unit of writing. A text that the user has a vector of already is not embedded
 * again. What was changed or forgotten meanwhile is left out: returns those that have their vector now.
 */
export async function embedBatch(options: {
  database: Database
  embedder: Embedder
  embeddingText: EmbeddingText
  memories: readonly Memory[]
  signal: AbortSignal
}): Promise<Memory[]> {
  const { database, embedder, embeddingText, memories, signal } = options
  const entries = await Promise.all(
    memories.map(async (memory): Promise<Entry> => {
      const text = await embeddingText(memory)
      return { memory, text, textHash: contentHash(text) }
    }),
  )
  const vectors = await knownVectors(database.read, embedder.model, entries)
  const unknown = new Map(
    entries.filter((entry) => !vectors.has(keyOf(entry))).map(({ textHash, text }) => [textHash, text]),
  )
  const embedded = await embedder.embed([...unknown.values()], 'memory', signal)
  const byHash = new Map([...unknown.keys()].map((hash, index) => [hash, embedded[index]]))
  const rows = entries.flatMap((entry) => {
    const fresh = byHash.get(entry.textHash)
    const vector = vectors.get(keyOf(entry)) ?? (fresh && toVectorBytes(fresh))
    return vector ? [{ ...entry, vector }] : []
  })

  return database.write(async (writer) => {
    const now = await writer
      .selectFrom('memories')
      .select(['number', 'content_hash', 'updated_at'])
      .where(
        'number',
        'in',
        rows.map(({ memory }) => memory.number),
      )
      .execute()
    const current = new Map(now.map((row) => [Number(row.number), row]))
    const unchanged = rows.filter(({ memory }) => {
      const row = current.get(memory.number)
      return row?.content_hash === contentHash(memory.content) && Number(row.updated_at) === memory.updatedAt
    })
    if (unchanged.length === 0) return []
    const vectorRows = unchanged.map(({ memory, textHash, vector }) => ({
      number: memory.number,
      user_id: memory.userId,
      model: embedder.model,
      text_hash: textHash,
      vector,
    }))
    await writer
      .insertInto('memory_vectors')
      .values(vectorRows)
      .onConflict((conflict) => conflict.doNothing())
      .execute()
    return unchanged.map(({ memory }) => memory)
  })
}

/** What each user has of these texts already. */
async function knownVectors(
  reader: Reader,
  model: string,
  entries: readonly Entry[],
): Promise<Map<string, Uint8Array>> {
  const known = new Map<string, Uint8Array>()
  for (const [userId, own] of Map.groupBy(entries, ({ memory }) => memory.userId)) {
    const rows = await reader
      .selectFrom('memory_vectors')
      .select(['text_hash', 'vector'])
      .where('text_hash', 'in', [...new Set(own.map(({ textHash }) => textHash))])
      // Behind a function: otherwise SQLite takes the index of all the user's vectors, a million for a text, not the hash's.
      .where(({ eb, fn, val }) => eb(fn.coalesce('user_id', val('')), '=', userId))
      .where(({ eb, fn, val }) => eb(fn.coalesce('model', val('')), '=', model))
      .execute()
    for (const { text_hash, vector } of rows) known.set(`${userId} ${text_hash}`, vector)
  }
  return known
}

function keyOf({ memory, textHash }: Entry): string {
  return `${memory.userId} ${textHash}`
}
