import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { sha256 } from '../../base/ids.ts'
import { parseJson } from '../../base/json.ts'
import type { Database, Writer } from '../../storage/database.ts'
import { createProgress, type Memories, readMark, writeMark } from '../memories.ts'
import type { MemoryLabel } from '../memory.ts'
import { splitPassages } from '../words.ts'
import { type Exchange, type ExchangeLine, isPlainQuestion, isTrivial } from './exchange.ts'
import { hasPlainStatements } from './plain-statements.ts'
import { evidenceOf, isGrounded, readForgotten } from './write-learned.ts'

const pauseBetweenSittings = 60 * 60_000

const placeSchema = z.object({ sitting: z.number().int(), position: z.number().int(), at: z.number() })
/** The position of the last line: its segment, the number of passages, and its time. */
type Place = z.infer<typeof placeSchema>

/** Past conversations as passages for recall (MEM-1). It needs no model and creates no duplicates. */
export type ConversationIndex = ReturnType<typeof createConversationIndex>

export const indexedMark = (sessionId: string) => `indexed:${sessionId}`
const placeMark = (sessionId: string) => `place:${sessionId}`

export function createConversationIndex(dependencies: { database: Database; memories: Memories; clock: Clock }) {
  const { database, memories, clock } = dependencies
  const progress = createProgress(dependencies, indexedMark)

  return {
    /**
     * The number of new passages. The turns are of one session, in order; all of them are indexed, or none. With `again`,
     * they were dropped before.
     */
    async index(userId: string, exchanges: readonly Exchange[], { again = false } = {}): Promise<number> {
      const [first] = exchanges
      if (!first) return 0
      const { sessionId } = first
      return database.write(async (writer) => {
        const reached = await progress.through(userId, sessionId, writer)
        const unread = exchanges.filter((exchange) => again || exchange.throughSeq > reached)
        const last = unread.at(-1)
        if (!last) return 0
        const stored = await storedInTurns(writer, userId, unread)
        const isForgotten = await readForgotten(writer, { userId, since: Math.min(...unread.map(({ at }) => at)) })
        let place = await readPlace(writer, userId, sessionId)
        let added = 0
        for (const exchange of unread) {
          const notes = evidenceOf((stored.get(exchange.turnId) ?? []).map(({ content }) => content))
          for (const line of exchange.lines) {
            place = placeAfter(place, line.at)
            for (const memory of memoriesOf(userId, exchange, line, place)) {
              const { content: text, label, at } = memory
              if (isGrounded(text, notes, 1) || isForgotten({ text, label, at })) continue
              added += 1
              await memories.addIn(writer, memory)
            }
          }
        }
        const mark = { userId, name: placeMark(sessionId), value: JSON.stringify(place), at: clock.now() }
        await writeMark(writer, mark)
        await progress.passIn(writer, userId, sessionId, last.throughSeq)
        return added
      })
    },
    /** The turns are no longer part of the conversation. */
    async drop(userId: string, sessionId: string, turnIds: readonly string[]): Promise<void> {
      if (turnIds.length === 0) return
      await database.write(async (writer) => {
        const passages = await writer
          .selectFrom('memories')
          .select('id')
          .where('user_id', '=', userId)
          .where('kind', '=', 'chunk')
          .where('session_id', '=', sessionId)
          .where('turn_id', 'in', turnIds)
          .execute()
        for (const { id } of passages) await memories.removeIn(writer, { userId, id })
      })
    },
    /** The conversation was deleted. If it is restored, it is indexed from its start. */
    async dropAll(userId: string, sessionId: string): Promise<void> {
      await database.write(async (writer) => {
        const passages = await writer
          .selectFrom('memories')
          .select('id')
          .where('user_id', '=', userId)
          .where('kind', '=', 'chunk')
          .where('session_id', '=', sessionId)
          .execute()
        for (const { id } of passages) await memories.removeIn(writer, { userId, id })
        await writer
          .deleteFrom('memory_marks')
          .where('user_id', '=', userId)
          .where('name', 'in', [indexedMark(sessionId), placeMark(sessionId)])
          .execute()
      })
    },
    passOver: progress.passOver,
    through: progress.through,
  }
}

function memoriesOf(userId: string, exchange: Exchange, line: ExchangeLine, { sitting, position }: Place) {
  const { sessionId, turnId } = exchange
  return passagesOf(line).map((content, part, { length }) => ({
    userId,
    kind: 'chunk' as const,
    content,
    source: 'extracted' as const,
    label: labelOf(line, exchange),
    speaker: line.speaker,
    sessionId,
    turnId,
    threadId: `${sessionId}/${sitting}`,
    position,
    passages: length,
    at: line.at,
    id: sha256(`${sessionId}\n${line.seq}\n${part}`).slice(0, 32),
  }))
}

function passagesOf({ speaker, text }: ExchangeLine): string[] {
  if (isTrivial(text) && !hasPlainStatements(text)) return []
  if (speaker === 'user' && isPlainQuestion(text)) return []
  return splitPassages(text)
}

function labelOf({ speaker, isProgram }: ExchangeLine, { untrusted, sawUntrusted }: Exchange): MemoryLabel {
  if (untrusted || (sawUntrusted && speaker === 'assistant')) return 'untrusted'
  return speaker === 'user' && !isProgram ? 'owner' : 'internal'
}

/** The notes stored by each turn: a passage that says no more than those would only repeat them. */
async function storedInTurns(writer: Writer, userId: string, exchanges: readonly Exchange[]) {
  const turnIds = exchanges.map(({ turnId }) => turnId)
  const notes = await writer
    .selectFrom('memories')
    .select(['content', 'turn_id'])
    .where('user_id', '=', userId)
    .where('kind', '=', 'note')
    .where('created_at', '>=', Math.min(...exchanges.map(({ at }) => at)))
    .where('turn_id', 'in', turnIds)
    .execute()
  return Map.groupBy(notes, ({ turn_id }) => turn_id)
}

async function readPlace(writer: Writer, userId: string, sessionId: string): Promise<Place> {
  const place = parseJson((await readMark(writer, userId, placeMark(sessionId))) ?? '', placeSchema)
  return place.ok ? place.value : { sitting: 1, position: 0, at: 0 }
}

function placeAfter(place: Place, at: number): Place {
  const isNewSitting = place.at > 0 && at - place.at > pauseBetweenSittings
  return isNewSitting ? { sitting: place.sitting + 1, position: 1, at } : { ...place, position: place.position + 1, at }
}
