import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { readBundledText } from '../../base/text-file.ts'
import type { Database } from '../../storage/database.ts'
import type { MemoryLabel } from '../memory.ts'
import type { AskModel } from './ask-model.ts'
import { describeExchange } from './describe-exchange.ts'
import { type Exchange, labelOf, ownWords, userTexts } from './exchange.ts'
import { isPlainQuestion, isTrivial } from './is-trivial.ts'
import { readPlainly } from './learn-plainly.ts'
import { type Learned, readLearned } from './learned.ts'
import { readSeqMark, writeMark } from './marks.ts'
import { hasPlainStatements } from './plain-statements.ts'
import { siftAnswer } from './sift-answer.ts'
import { createTrouble, type TroubleReport } from './trouble.ts'
import { type LearningStores, type WrittenCount, writeLearnedIn } from './write-learned.ts'

const prompt = readBundledText(new URL('./prompts/extraction.md', import.meta.url))

type ExtractionOutcome =
  /** Done before. */
  | { status: 'known' }
  /** Nothing in it could be worth keeping: no model was asked. */
  | { status: 'trivial' }
  | { status: 'learnt'; by: 'model' | 'form'; added: WrittenCount }
  /** Nothing was written. `again`: the same exchange is to be tried later, and no later one before it. */
  | { status: 'failed'; reason: string; again: boolean }

/** What is worth keeping of an exchange, once and for all (MEM-8). */
export interface Extraction {
  /** Exchanges of one session come in order; of one user, one at a time. */
  extract(userId: string, exchange: Exchange, signal: AbortSignal): Promise<ExtractionOutcome>
  /** Up to here the session needs no extraction: it holds nothing, or the user does not want it. */
  passOver(userId: string, sessionId: string, throughSeq: number): Promise<void>
  through(userId: string, sessionId: string): Promise<number>
  trouble(userId: string): Promise<TroubleReport | undefined>
}

export const extractedMark = (sessionId: string) => `extracted:${sessionId}`

export function createExtraction(
  dependencies: LearningStores & {
    database: Database
    askModel: AskModel
    clock: Clock
    logger: Logger
    timeZone: string
    agentName?: () => string
  },
): Extraction {
  const { database, askModel, clock, logger, timeZone } = dependencies
  const trouble = createTrouble({ database, clock, logger, task: 'extraction' })

  return {
    async extract(userId, exchange, signal) {
      const { sessionId, throughSeq } = exchange
      if ((await readSeqMark(database.read, userId, extractedMark(sessionId))) >= throughSeq) return { status: 'known' }
      const said = userTexts([exchange])
      if (said.every(tellsNothing)) {
        await passOver(userId, sessionId, throughSeq)
        return { status: 'trivial' }
      }
      const answer = await askModel({
        userId,
        sessionId,
        purpose: 'extraction',
        system: prompt,
        text: describeExchange(exchange, timeZone),
        signal,
      })
      if (!answer.ok) {
        if (answer.reason === 'no_model') return learnPlainly(userId, exchange)
        return failed(userId, exchange, answer)
      }
      const learned = readLearned(answer.text)
      if (!learned) return failed(userId, exchange, { reason: 'malformed', message: 'the answer holds no JSON' })
      const sifted = await siftAnswer(dependencies, { userId, said, saidAt: exchange.at }, learned)
      return { status: 'learnt', by: 'model', added: await write(userId, exchange, sifted) }
    },
    passOver,
    through: (userId, sessionId) => readSeqMark(database.read, userId, extractedMark(sessionId)),
    trouble: trouble.report,
  }

  async function write(
    userId: string,
    exchange: Exchange,
    learned: Learned,
    label: MemoryLabel = labelOf([exchange]),
  ): Promise<WrittenCount> {
    const { sessionId, turnId, throughSeq } = exchange
    const from = { userId, sessionId, turnId, at: exchange.at, label, ownWords: ownWords([exchange]), timeZone }
    return database.write(async (writer) => {
      const nothing = { notes: 0, facts: 0, commitments: 0, aliases: 0 }
      if ((await readSeqMark(writer, userId, extractedMark(sessionId))) >= throughSeq) return nothing
      const { added } = await writeLearnedIn(writer, dependencies, from, learned)
      await writeMark(writer, { userId, name: extractedMark(sessionId), value: String(throughSeq), at: clock.now() })
      await trouble.clearIn(writer, userId, sessionId)
      return added
    })
  }

  /** What the user says plainly can be read by form: without a model, and where the model fails for good. */
  async function learnPlainly(userId: string, exchange: Exchange): Promise<ExtractionOutcome> {
    const text = userTexts([exchange]).join('\n')
    const learned = await readPlainly(dependencies, { userId, text, at: exchange.at })
    // Read from the user's own lines and nothing else.
    const label = exchange.untrusted ? 'untrusted' : 'internal'
    return { status: 'learnt', by: 'form', added: await write(userId, exchange, learned, label) }
  }

  async function failed(
    userId: string,
    exchange: Exchange,
    failure: { reason: string; message: string },
  ): Promise<ExtractionOutcome> {
    const { sessionId, throughSeq: seq } = exchange
    const reason = `${failure.reason}: ${failure.message}`
    // A stop is no failure of the exchange, and money comes back with the next day: neither counts against it.
    if (failure.reason === 'aborted') return { status: 'failed', reason, again: true }
    if (failure.reason === 'budget') {
      logger.warn('extraction waits for the budget', { session: sessionId, reason: failure.message })
      return { status: 'failed', reason, again: true }
    }
    if (!(await trouble.note({ userId, sessionId, seq, reason }))) return { status: 'failed', reason, again: true }
    await learnPlainly(userId, exchange)
    return { status: 'failed', reason, again: false }
  }

  async function passOver(userId: string, sessionId: string, throughSeq: number): Promise<void> {
    if ((await readSeqMark(database.read, userId, extractedMark(sessionId))) >= throughSeq) return
    await database.write(async (writer) => {
      if ((await readSeqMark(writer, userId, extractedMark(sessionId))) >= throughSeq) return
      await writeMark(writer, { userId, name: extractedMark(sessionId), value: String(throughSeq), at: clock.now() })
    })
  }
}

function tellsNothing(text: string): boolean {
  return (isTrivial(text) || isPlainQuestion(text)) && !hasPlainStatements(text)
}
