import { dayOf, formatDay } from '../../base/calendar.ts'
import type { Clock } from '../../base/clock.ts'
import { sha256 } from '../../base/hash.ts'
import type { Logger } from '../../base/logger.ts'
import { readBundledText } from '../../base/text-file.ts'
import type { Database } from '../../storage/database.ts'
import type { AskModel } from './ask-model.ts'
import type { Consolidated, ConsolidationOutcome } from './consolidation.ts'
import { readLearned } from './learned.ts'
import { readMark, writeMark } from './marks.ts'
import { siftAnswer } from './sift-answer.ts'
import { splitPassages } from './split-passages.ts'
import { type LearningStores, writeLearnedIn } from './write-learned.ts'

const prompt = readBundledText(new URL('./prompts/consolidation.md', import.meta.url))
// About as many tokens as a part of a conversation has.
const charactersOfPart = 20_000

export interface ConsolidatedFile {
  userId: string
  /** As it is known: it names the watermark. */
  path: string
  text: string
  /** When it was written last. */
  at: number
  signal: AbortSignal
}

/**
 * Facts, promises and names from a file that the user keeps (`MEMORY.md`, `memory/*.md`). By hash: a file that is as it
 * was costs nothing, one that was cut short goes on at the part where it stopped.
 */
export function createFileConsolidation(
  dependencies: LearningStores & {
    database: Database
    askModel: AskModel
    clock: Clock
    logger: Logger
    timeZone: string
    agentName?: () => string
  },
): (file: ConsolidatedFile) => Promise<ConsolidationOutcome> {
  const { database, askModel, clock, timeZone } = dependencies

  return async ({ userId, path, text, at, signal }) => {
    const added: Consolidated = { episodes: 0, facts: 0, commitments: 0, aliases: 0 }
    const name = `consolidated-file:${path}`
    const hash = sha256(text)
    const parts = splitPassages(text, charactersOfPart)
    const first = partsDone(await readMark(database.read, userId, name), hash, parts.length)
    for (const [index, part] of parts.entries()) {
      if (index < first) continue
      const told = `[A file, as of ${formatDay(dayOf(at, timeZone))}]\n${part}`
      const answer = await askModel({
        userId,
        sessionId: null,
        purpose: 'consolidation',
        system: prompt,
        text: told,
        signal,
      })
      if (!answer.ok) return { ...answer, added }
      const learned = readLearned(answer.text)
      if (!learned) return { ok: false, reason: 'failed', message: `${path}: the answer holds no JSON`, added }
      const from = { userId, said: [part], saidAt: at }
      const sifted = await siftAnswer(dependencies, from, { ...learned, notes: [], episode: null })
      const written = await database.write(async (writer) => {
        const result = await writeLearnedIn(writer, dependencies, { userId, at, label: 'internal', timeZone }, sifted)
        await writeMark(writer, { userId, name, value: `${hash} ${index + 1}`, at: clock.now() })
        return result.added
      })
      added.facts += written.facts
      added.commitments += written.commitments
      added.aliases += written.aliases
    }
    return { ok: true, parts: Math.max(0, parts.length - first), added }
  }
}

/** How many parts of the file, as it is now, were done before. */
function partsDone(mark: string | undefined, hash: string, most: number): number {
  const [known, done] = (mark ?? '').split(' ')
  const count = Number(done)
  return known === hash && Number.isSafeInteger(count) ? Math.min(Math.max(0, count), most) : 0
}
