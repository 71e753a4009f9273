import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { sha256 } from '../../base/hash.ts'
import { parseJson } from '../../base/json.ts'
import type { Database, Writer } from '../../storage/database.ts'
import type { Memories } from '../memories.ts'
import type { Exchange, ExchangeLine } from './exchange.ts'
import { evidenceOf, isGrounded } from './grounding.ts'
import { isPlainQuestion, isTrivial } from './is-trivial.ts'
import { readMark, readSeqMark, writeMark } from './marks.ts'
import { hasPlainStatements } from './plain-statements.ts'
import { splitPassages } from './split-passages.ts'

const pauseBetweenSittings = 60 * 60_000

const placeSchema = z.object({ sitting: z.number().int(), position: z.number().int(), at: z.number() })
/** Where the last line stands: in which sitting, after how many passages, and when it was said. */
type Place = z.infer<typeof placeSchema>

/** Past conversations as passages that recall finds (MEM-1). It needs no model and makes nothing twice. */
export interface ConversationIndex {
  /** How many passages were new. Exchanges of one session come in order. */
  index(userId: string, exchange: Exchange): Promise<number>
  /** Up to here the session holds nothing to index. */
  passOver(userId: string, sessionId: string, throughSeq: number): Promise<void>
  through(userId: string, sessionId: string): Promise<number>
}

export const indexedMark = (sessionId: string) => `indexed:${sessionId}`
const placeMark = (sessionId: string) => `place:${sessionId}`

export function createConversationIndex(dependencies: {
  database: Database
  memories: Memories
  clock: Clock
}): ConversationIndex {
  const { database, memories, clock } = dependencies

  return {
    index: (userId, exchange) =>
      database.write(async (writer) => {
        const { sessionId, turnId, throughSeq, lines } = exchange
        if ((await readSeqMark(writer, userId, indexedMark(sessionId))) >= throughSeq) return 0
        const stored = await storedInTurn(writer, userId, exchange)
        let place = await readPlace(writer, userId, sessionId)
        let added = 0
        for (const line of lines) {
          place = placeAfter(place, line.at)
          const passages = passagesOf(line)
          place.position += 1
          for (const [part, passage] of passages.entries()) {
            if (isGrounded(passage, stored, 1)) continue
            added += 1
            await memories.addIn(writer, {
              userId,
              kind: 'chunk',
              content: passage,
              source: 'extracted',
              label: labelOf(line, exchange),
              speaker: line.speaker,
              sessionId,
              turnId,
              threadId: `${sessionId}/${place.sitting}`,
              position: place.position,
              passages: passages.length,
              at: line.at,
              id: sha256(`${sessionId}\n${line.seq}\n${part}`).slice(0, 32),
            })
          }
        }
        const at = clock.now()
        await writeMark(writer, { userId, name: placeMark(sessionId), value: JSON.stringify(place), at })
        await writeMark(writer, { userId, name: indexedMark(sessionId), value: String(throughSeq), at })
        return added
      }),
    async passOver(userId, sessionId, throughSeq) {
      await database.write(async (writer) => {
        if ((await readSeqMark(writer, userId, indexedMark(sessionId))) >= throughSeq) return
        await writeMark(writer, { userId, name: indexedMark(sessionId), value: String(throughSeq), at: clock.now() })
      })
    },
    through: (userId, sessionId) => readSeqMark(database.read, userId, indexedMark(sessionId)),
  }
}

/** What is worth finding again of a line; nothing where it is mere courtesy or a plain question. */
function passagesOf({ speaker, text }: ExchangeLine): string[] {
  if (isTrivial(text) && !hasPlainStatements(text)) return []
  if (speaker === 'user' && isPlainQuestion(text)) return []
  return splitPassages(text)
}

function labelOf({ speaker, isProgram }: ExchangeLine, { untrusted, sawUntrusted }: Exchange) {
  if (untrusted || (sawUntrusted && speaker === 'assistant')) return 'untrusted'
  return speaker === 'user' && !isProgram ? 'owner' : 'internal'
}

/** What the turn itself stored as notes: a passage that says no more than those would only repeat them. */
async function storedInTurn(writer: Writer, userId: string, { turnId, at }: Exchange) {
  const notes = await writer
    .selectFrom('memories')
    .select('content')
    .where('user_id', '=', userId)
    .where('kind', '=', 'note')
    .where('created_at', '>=', at)
    .where('turn_id', '=', turnId)
    .execute()
  return evidenceOf(notes.map((note) => note.content))
}

async function readPlace(writer: Writer, userId: string, sessionId: string): Promise<Place> {
  const place = parseJson((await readMark(writer, userId, placeMark(sessionId))) ?? '', placeSchema)
  return place.ok ? place.value : { sitting: 1, position: 0, at: 0 }
}

function placeAfter(place: Place, at: number): Place {
  const isNewSitting = place.at > 0 && at - place.at > pauseBetweenSittings
  return { sitting: place.sitting + (isNewSitting ? 1 : 0), position: isNewSitting ? 0 : place.position, at }
}
