import { sha256 } from '../../src/base/ids.ts'
import type { Memories } from '../../src/memory/memories.ts'
import { type Database, toVectorBytes } from '../../src/storage/database.ts'
import { hashModel, hashVector } from './hash-vector.ts'
import type { Life } from './life.ts'

export const benchUser = 'bench-user'
const linesPerUnit = 500

export interface FillFigures {
  /** Memories written a second, 500 to a commit, with row and full text. Null where all were there. */
  memoriesPerSecond: number | null
  /** Their vectors beside that, without the time that an embedding takes. */
  vectorsPerSecond: number | null
}

/** Adds the lines `from` to `to` of a life as passages of conversations. A line's id tells its number. */
export async function fillDatabase(options: {
  database: Database
  memories: Memories
  life: Life
  from: number
  to: number
  say(line: string): void
}): Promise<FillFigures> {
  const { database, memories, life, from, to, say } = options
  let memoryMs = 0
  let vectorMs = 0
  for (let first = from; first < to; first += linesPerUnit) {
    const indexes = Array.from({ length: Math.min(linesPerUnit, to - first) }, (_, offset) => first + offset)
    const lines = indexes.map((index) => ({ id: idOf(index), ...life.line(index) }))
    const begun = performance.now()
    const added = await database.write(async (writer) => {
      const numbers: number[] = []
      for (const { id, content, speaker, thread, position, at } of lines) {
        const source = 'extracted'
        const place = { threadId: `bench/${thread}`, position, speaker, sessionId: 'bench' }
        const new_ = { userId: benchUser, kind: 'chunk', content, source, at, id, ...place } as const
        numbers.push((await memories.addIn(writer, new_)).memory.number)
      }
      return numbers
    })
    memoryMs += performance.now() - begun
    const rows = lines.map(({ content }, index) => ({
      number: added[index] ?? 0,
      user_id: benchUser,
      model: hashModel,
      text_hash: sha256(content).slice(0, 32),
      vector: toVectorBytes(hashVector(content)),
    }))
    const embedded = performance.now()
    await database.write((writer) => writer.insertInto('memory_vectors').values(rows).execute())
    vectorMs += performance.now() - embedded
    if ((first + linesPerUnit) % 50_000 === 0) say(`${first + linesPerUnit} memories`)
  }
  const perSecond = (ms: number) => (from === to ? null : Math.round(((to - from) / ms) * 1000))
  return { memoriesPerSecond: perSecond(memoryMs), vectorsPerSecond: perSecond(vectorMs) }
}

export function idOf(index: number): string {
  return `bench-${index}`
}
