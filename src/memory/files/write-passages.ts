import { sha256 } from '../../base/ids.ts'
import type { Database, Writer } from '../../storage/database.ts'
import type { MemoryFileRow } from '../../storage/tables.ts'
import type { Memories } from '../memories.ts'
import { isRow, type MemoryLabel } from '../memory.ts'
import type { Passage } from './chunk-text.ts'

export interface FilePassages {
  file: MemoryFileRow
  /** The title of a passage without headings. */
  name: string
  label: MemoryLabel
  passages: readonly Passage[]
}

/**
 * Replaces the passages of a file. A passage that existed under the same headings stays the same memory, with its
 * vectors; only its place is updated.
 *
 * Up to `stepsPerUnit` changes are one unit. A larger file takes several, so that commits stay short: until the last of
 * them its hash is empty, and an interrupted file is resumed.
 */
export async function writePassages(
  { database, memories }: { database: Database; memories: Memories },
  { file, name, label, passages }: FilePassages,
): Promise<{ added: number; removed: number }> {
  const known = new Map((await chunksOf(database, file)).map((chunk) => [chunk.id, chunk]))
  const wanted = withIds(file, passages)
  const gone = [...known.keys()].filter((id) => !wanted.has(id))
  const fresh = [...wanted].filter(([id]) => !known.has(id))
  const moved = [...wanted].filter(([id, { firstLine, lastLine, position }]) => {
    const chunk = known.get(id)
    if (!chunk) return false
    return chunk.first_line !== firstLine || chunk.last_line !== lastLine || chunk.position !== position
  })
  await inUnits(database, file, [
    ...gone.map((id) => removal(memories, file, id)),
    ...fresh.map(([id, passage]) => add(id, passage)),
    ...moved.map(([id, passage]) => move(id, passage)),
  ])
  return { added: fresh.length, removed: gone.length }

  function add(id: string, passage: PlacedPassage): Step {
    return async (writer) => {
      const { memory } = await memories.addIn(writer, {
        id,
        userId: file.user_id,
        kind: 'chunk',
        content: passage.text,
        title: titleOf(passage) || name,
        source: 'import',
        label,
        threadId: file.id,
        position: passage.position,
        at: Math.min(file.modified_at, file.indexed_at),
      })
      const place = { file_id: file.id, first_line: passage.firstLine, last_line: passage.lastLine }
      await writer
        .insertInto('chunks')
        .values({ id: memory.id, user_id: file.user_id, ...place })
        .execute()
    }
  }

  function move(id: string, { position, firstLine, lastLine }: PlacedPassage): Step {
    const its = isRow(file.user_id, id)
    return async (writer) => {
      await writer.updateTable('memories').set({ position }).where(its).execute()
      await writer.updateTable('chunks').set({ first_line: firstLine, last_line: lastLine }).where(its).execute()
    }
  }
}

export async function removeFile(
  { database, memories }: { database: Database; memories: Memories },
  file: MemoryFileRow,
): Promise<number> {
  const chunks = await chunksOf(database, file)
  await inUnits(database, file, [
    ...chunks.map(({ id }) => removal(memories, file, id)),
    async (writer) => {
      await writer.deleteFrom('memory_files').where(isRow(file.user_id, file.id)).execute()
    },
  ])
  return chunks.length
}

interface PlacedPassage extends Passage {
  position: number
}

/**
 * The n-th occurrence of the same words under the same headings of the same file is the same memory. The headings
 * count, because they are searched and embedded with the words.
 */
function withIds(file: MemoryFileRow, passages: readonly Passage[]): Map<string, PlacedPassage> {
  const occurrences = new Map<string, number>()
  const withId = passages.map((passage, position): [string, PlacedPassage] => {
    const said = `${titleOf(passage)}\n${passage.text}`
    const occurrence = occurrences.get(said) ?? 0
    occurrences.set(said, occurrence + 1)
    const id = sha256(JSON.stringify([file.user_id, file.path, said, occurrence])).slice(0, 32)
    return [id, { ...passage, position }]
  })
  return new Map(withId)
}

function titleOf({ headings }: Passage): string {
  return headings.join(' › ')
}

function chunksOf(database: Database, file: MemoryFileRow) {
  return database.read
    .selectFrom('chunks')
    .innerJoin('memories', 'memories.id', 'chunks.id')
    .select(['chunks.id', 'chunks.first_line', 'chunks.last_line', 'memories.position'])
    .where('chunks.user_id', '=', file.user_id)
    .where('chunks.file_id', '=', file.id)
    .execute()
}

const stepsPerUnit = 100

type Step = (writer: Writer) => Promise<void>

function removal(memories: Memories, { user_id: userId }: MemoryFileRow, id: string): Step {
  return (writer) => memories.removeIn(writer, { userId, id })
}

async function inUnits(database: Database, file: MemoryFileRow, steps: readonly Step[]): Promise<void> {
  for (let first = 0; first === 0 || first < steps.length; first += stepsPerUnit) {
    const isLast = first + stepsPerUnit >= steps.length
    await database.write(async (writer) => {
      await saveFile(writer, isLast ? file : { ...file, content_hash: '' })
      for (const step of steps.slice(first, first + stepsPerUnit)) await step(writer)
    })
  }
}

export async function saveFile(writer: Writer, file: MemoryFileRow): Promise<void> {
  const { id, user_id, path, ...rest } = file
  await writer
    .insertInto('memory_files')
    .values({ id, user_id, path, ...rest })
    .onConflict((conflict) => conflict.columns(['user_id', 'path']).doUpdateSet(rest))
    .execute()
}
