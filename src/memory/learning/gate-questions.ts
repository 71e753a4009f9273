import { holdsApprovalQuestion, withoutApprovalQuestions } from '../../security/approval-texts.ts'
import type { Database, Writer } from '../../storage/database.ts'
import { type Memories, readMark, selectMemories, writeMark } from '../memories.ts'
import { type Memory, memoryFromRow } from '../memory.ts'
import { splitPassages } from '../words.ts'

const doneMark = 'gate-questions-removed'

/** Older versions learned from approval questions as if the model had said something. */
export function isGateQuestion({ source, speaker, kind, content, passages }: Memory): boolean {
  if (source !== 'extracted' || speaker === 'user' || kind === 'note') return false
  return holdsApprovalQuestion(content) || (passages > 1 && content.endsWith(' Yes or no?'))
}

/**
 * Removes the questions from a home of an older version, once per user: facts and episodes with one are deleted, and a
 * conversation line keeps the model's own words. Returns how many memories were deleted.
 */
export async function removeGateQuestions(
  { database, memories, now }: { database: Database; memories: Memories; now: () => number },
  userId: string,
): Promise<number> {
  if (await readMark(database.read, userId, doneMark)) return 0
  const rows = await selectMemories(database.read, userId)
    .where('source', '=', 'extracted')
    .where('content', 'like', '%May I call %')
    .orderBy('number')
    .execute()
  const found = rows.map(memoryFromRow).filter(isGateQuestion)
  let removed = 0
  const cleaned = new Set<string>()
  for (const memory of found) {
    if (cleaned.has(memory.id)) continue
    await database.write(async (writer) => {
      const line = memory.kind === 'chunk' ? await piecesOf(writer, memory) : [memory]
      for (const piece of line) cleaned.add(piece.id)
      removed += await cleanLine(writer, memories, line)
    })
  }
  await database.write((writer) => writeMark(writer, { userId, name: doneMark, value: String(removed), at: now() }))
  return removed
}

/** The conversation line that a passage belongs to: a long question was split like any other text. */
async function piecesOf(writer: Writer, memory: Memory): Promise<Memory[]> {
  const { userId, threadId, position, turnId } = memory
  if (memory.passages === 1 || threadId === null || position === null) return [memory]
  const rows = await selectMemories(writer, userId)
    .where('kind', '=', 'chunk')
    .where('thread_id', '=', threadId)
    .where('position', '=', position)
    .orderBy('number')
    .execute()
  return rows.map(memoryFromRow).filter((piece) => piece.turnId === turnId)
}

async function cleanLine(writer: Writer, memories: Memories, line: readonly Memory[]): Promise<number> {
  const said = line[0]?.kind === 'chunk' ? withoutApprovalQuestions(line.map(({ content }) => content).join(' ')) : ''
  const passages = splitPassages(said)
  let removed = 0
  for (const [index, memory] of line.entries()) {
    const content = passages[index]
    if (content !== undefined) {
      await memories.replaceIn(writer, { ...memory, content, passages: Math.min(passages.length, line.length) })
    } else {
      await memories.removeIn(writer, memory)
      removed += 1
    }
  }
  return removed
}
