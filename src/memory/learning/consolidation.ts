import type { Clock } from '../../base/clock.ts'
import { sha256 } from '../../base/hash.ts'
import type { Logger } from '../../base/logger.ts'
import { readBundledText } from '../../base/text-file.ts'
import type { Database, Writer } from '../../storage/database.ts'
import type { Episodes } from '../episodes.ts'
import { isAboutTheAgent } from './about-the-agent.ts'
import type { AskModel } from './ask-model.ts'
import { describeExchanges } from './describe-exchange.ts'
import { type Exchange, labelOf, ownWords, userTexts } from './exchange.ts'
import { evidenceOf, isGrounded } from './grounding.ts'
import { holdsSecret } from './holds-secret.ts'
import { isPlainQuestion, isTrivial } from './is-trivial.ts'
import { type Learned, type LearnedEpisode, readLearned } from './learned.ts'
import { readSeqMark, writeMark } from './marks.ts'
import { siftAnswer } from './sift-answer.ts'
import { type StretchPart, splitStretch } from './split-stretch.ts'
import { createTrouble, type TroubleReport } from './trouble.ts'
import { tellingWords } from './word-overlap.ts'
import { type LearningStores, type Written, type WrittenCount, writeLearnedIn } from './write-learned.ts'

const prompt = readBundledText(new URL('./prompts/consolidation.md', import.meta.url))
const askedAtOnce = 4
const leastSummaryWords = 5
const mentionWeight = 0.6

export interface Consolidated extends Omit<WrittenCount, 'notes'> {
  episodes: number
}

export type ConsolidationOutcome =
  | { ok: true; parts: number; added: Consolidated }
  /** What was done before it failed stays done; the rest is as it was. */
  | { ok: false; reason: 'no_model' | 'budget' | 'aborted' | 'failed'; message: string; added: Consolidated }

interface Stretch {
  userId: string
  sessionId: string
  /** In order. What lies before the watermark is passed over. */
  exchanges: readonly Exchange[]
  signal: AbortSignal
}

/** Writes facts, episodes, promises and names from stretches of conversation, each stretch once (MEM-9). */
export interface Consolidation {
  consolidate(stretch: Stretch): Promise<ConsolidationOutcome>
  /**
   * All of the stretch but its last part is written; that one is returned, to be written in a unit of the caller's. The
   * model has been asked by then. Undefined where nothing is left to write, or it failed: then it waits for the next time.
   */
  prepare(stretch: Stretch): Promise<((writer: Writer) => Promise<void>) | undefined>
  through(userId: string, sessionId: string): Promise<number>
  trouble(userId: string): Promise<TroubleReport | undefined>
}

const consolidatedMark = (sessionId: string) => `consolidated:${sessionId}`

export function createConsolidation(
  dependencies: LearningStores & {
    database: Database
    episodes: Episodes
    askModel: AskModel
    clock: Clock
    logger: Logger
    timeZone: string
    agentName?: () => string
  },
): Consolidation {
  const { database, episodes, graph, askModel, clock, logger, timeZone } = dependencies
  const trouble = createTrouble({ database, clock, logger, task: 'consolidation' })

  return {
    async consolidate(stretch) {
      const added = nothingAdded()
      let parts = 0
      for await (const read of readParts(stretch)) {
        if (!read.ok) return { ...read, added }
        addTo(added, await writeNow(stretch, read))
        parts += 1
      }
      return { ok: true, parts, added }
    },
    async prepare(stretch) {
      let last: ReadPart | undefined
      for await (const read of readParts(stretch)) {
        if (!read.ok) {
          logger.warn('consolidation waits', { session: stretch.sessionId, reason: read.message })
          break
        }
        if (last) await writeNow(stretch, last)
        last = read
      }
      if (!last) return undefined
      const sifted = await siftPart(stretch, last)
      return async (writer) => void (await writePartIn(writer, stretch, sifted))
    },
    through: (userId, sessionId) => readSeqMark(database.read, userId, consolidatedMark(sessionId)),
    trouble: trouble.report,
  }

  /** The parts that are not done, in order, as the model read them; a few are asked side by side. Ends with a failure. */
  async function* readParts(stretch: Stretch): AsyncGenerator<ReadPart | UnreadPart> {
    const { userId, sessionId } = stretch
    const done = await readSeqMark(database.read, userId, consolidatedMark(sessionId))
    const parts = splitStretch(
      stretch.exchanges.filter((exchange) => exchange.throughSeq > done),
      timeZone,
    )
    for (let start = 0; start < parts.length; start += askedAtOnce) {
      const some = parts.slice(start, start + askedAtOnce)
      const answers = await Promise.all(some.map((part) => readPart(stretch, part)))
      for (const [index, read] of answers.entries()) {
        const part = some[index]
        if (!read.ok && read.reason === 'failed' && part) {
          const failure = { userId, sessionId, seq: part.throughSeq, reason: read.message }
          if (await trouble.note(failure)) {
            yield { ok: true, part, learned: nothing }
            continue
          }
        }
        yield read
        if (!read.ok) return
      }
    }
  }

  async function readPart(stretch: Stretch, part: StretchPart): Promise<ReadPart | UnreadPart> {
    const { userId, sessionId, signal } = stretch
    const said = userTexts(part.exchanges)
    if (said.every((text) => isTrivial(text) || isPlainQuestion(text))) return { ok: true, part, learned: nothing }
    const text = describeExchanges(part.exchanges, timeZone)
    const answer = await askModel({ userId, sessionId, purpose: 'consolidation', system: prompt, text, signal })
    if (!answer.ok) return answer
    const learned = readLearned(answer.text)
    return learned ? { ok: true, part, learned } : { ok: false, reason: 'failed', message: 'the answer holds no JSON' }
  }

  /** Once the parts before it are written: what they told is then known. */
  async function siftPart({ userId }: Stretch, { part, learned }: ReadPart): Promise<ReadPart> {
    const { exchanges } = part
    const from = { userId, said: userTexts(exchanges), saidAt: exchanges[0]?.at ?? 0 }
    const sifted = await siftAnswer(dependencies, from, { ...learned, notes: [] })
    return { ok: true, part, learned: { ...sifted, episode: worthwhile(sifted.episode, exchanges) } }
  }

  async function writeNow(stretch: Stretch, read: ReadPart): Promise<Consolidated> {
    const sifted = await siftPart(stretch, read)
    return database.write((writer) => writePartIn(writer, stretch, sifted))
  }

  /** The part and its watermark, together. Nothing where it was done in between. */
  async function writePartIn(writer: Writer, stretch: Stretch, { part, learned }: ReadPart): Promise<Consolidated> {
    const { userId, sessionId } = stretch
    const { exchanges, fromSeq, throughSeq } = part
    const added = nothingAdded()
    const name = consolidatedMark(sessionId)
    if ((await readSeqMark(writer, userId, name)) >= throughSeq) return added
    const label = labelOf(exchanges)
    const startedAt = exchanges[0]?.lines[0]?.at ?? clock.now()
    const endedAt = exchanges.at(-1)?.lines.at(-1)?.at ?? startedAt
    const written = await writeLearnedIn(
      writer,
      dependencies,
      { userId, sessionId, at: endedAt, label, ownWords: ownWords(exchanges), timeZone },
      learned,
    )
    addTo(added, { ...written.added, episodes: 0 })
    if (learned.episode) {
      const { episode, isNew } = await episodes.addIn(writer, {
        ...learned.episode,
        userId,
        sessionId,
        label,
        startedAt,
        endedAt,
        source: 'extracted',
        memoryId: sha256(`episode\n${userId}\n${sessionId}\n${fromSeq}-${throughSeq}`).slice(0, 32),
      })
      if (isNew) added.episodes += 1
      await linkMentions(writer, userId, { episodeId: episode.id, written, exchanges, startedAt })
    }
    await writeMark(writer, { userId, name, value: String(throughSeq), at: clock.now() })
    await trouble.clearIn(writer, userId, sessionId)
    return added
  }

  /** To what was written with it, and to what was kept of its turns before. */
  async function linkMentions(
    writer: Writer,
    userId: string,
    of: { episodeId: string; written: Written; exchanges: readonly Exchange[]; startedAt: number },
  ): Promise<void> {
    const ofTurns = await writer
      .selectFrom('memories')
      .select('id')
      .where('user_id', '=', userId)
      .where('kind', 'in', ['note', 'fact', 'commitment'])
      .where('created_at', '>=', of.startedAt)
      .where(
        'turn_id',
        'in',
        of.exchanges.map((exchange) => exchange.turnId),
      )
      .execute()
    for (const targetId of new Set([...of.written.ids, ...ofTurns.map((row) => row.id)])) {
      const edge = { sourceId: of.episodeId, targetId, relation: 'mentions', weight: mentionWeight }
      await graph.linkIn(writer, userId, edge)
    }
  }
}

interface ReadPart {
  ok: true
  part: StretchPart
  learned: Learned
}

type UnreadPart = Omit<Extract<ConsolidationOutcome, { ok: false }>, 'added'>

const nothing: Learned = { notes: [], facts: [], commitments: [], aliases: [], episode: null }

function nothingAdded(): Consolidated {
  return { episodes: 0, facts: 0, commitments: 0, aliases: 0 }
}

function addTo(sum: Consolidated, more: Consolidated): void {
  sum.episodes += more.episodes
  sum.facts += more.facts
  sum.commitments += more.commitments
  sum.aliases += more.aliases
}

/** Null for an episode that tells too little, or of something that was not spoken of. */
function worthwhile(episode: LearnedEpisode | null, exchanges: readonly Exchange[]): LearnedEpisode | null {
  if (!episode || tellingWords(episode.summary).length < leastSummaryWords) return null
  if (holdsSecret(episode.summary) || isAboutTheAgent(episode.summary)) return null
  const evidence = evidenceOf(exchanges.flatMap(({ lines }) => lines.map((line) => line.text)))
  // A summary may put it in words of its own; a decision was made in words.
  if (!isGrounded(episode.summary, evidence, 1 / 3)) return null
  return { ...episode, decisions: episode.decisions.filter((decision) => isGrounded(decision, evidence)) }
}
