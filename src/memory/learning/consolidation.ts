import { dayOf, formatDay } from '../../base/clock.ts'
import { readBundledText } from '../../base/files.ts'
import { sha256 } from '../../base/ids.ts'
import { estimateTokens } from '../../base/tokens.ts'
import type { Writer } from '../../storage/database.ts'
import type { Episodes } from '../episodes.ts'
import { createProgress, readMark, writeMark } from '../memories.ts'
import { splitPassages } from '../words.ts'
import { type AskModel, createTrouble } from './ask-model.ts'
import {
  describeExchange,
  describeExchanges,
  type Exchange,
  exchangeLabel,
  isPlainQuestion,
  isTrivial,
  ownWords,
  tellingWords,
  userTexts,
} from './exchange.ts'
import { type Learned, type LearnedEpisode, readLearned } from './extraction.ts'
import {
  evidenceOf,
  holdsSecret,
  isAboutTheAgent,
  isGrounded,
  type LearningDependencies,
  siftAnswer,
  type Written,
  type WrittenCount,
  writeLearnedIn,
} from './write-learned.ts'

const prompt = readBundledText(new URL('./prompts/consolidation.md', import.meta.url))
const askedAtOnce = 4
const leastSummaryWords = 5
const mentionWeight = 0.6

type Consolidated = Omit<WrittenCount, 'notes'> & { episodes: number }

export type ConsolidationOutcome =
  | { ok: true; parts: number; added: Consolidated }
  /** Parts done before the failure stay done; the rest is unchanged. */
  | { ok: false; reason: 'no_model' | 'budget' | 'aborted' | 'failed'; message: string; added: Consolidated }

interface Stretch {
  userId: string
  sessionId: string
  /** In order. Those before the watermark are skipped. */
  exchanges: readonly Exchange[]
  signal: AbortSignal
}

/** Writes facts, episodes, promises and names from segments of conversation, each segment once (MEM-9). */
export type Consolidation = ReturnType<typeof createConsolidation>

export function createConsolidation(dependencies: LearningDependencies & { episodes: Episodes }) {
  const { database, episodes, graph, clock, logger, timeZone } = dependencies
  const progress = createProgress(dependencies, (sessionId) => `consolidated:${sessionId}`)
  const trouble = createTrouble({ database, clock, logger, task: 'consolidation' })

  return {
    async consolidate(stretch: Stretch): Promise<ConsolidationOutcome> {
      const added = nothingAdded()
      let parts = 0
      for await (const read of readParts(stretch)) {
        if (!read.ok) return { ...read, added }
        addTo(added, await writeNow(stretch, read))
        parts += 1
      }
      return { ok: true, parts, added }
    },
    /**
     * Writes all of the segment except its last part, which is returned to be written in the caller's unit. The model has
     * been asked by then. Undefined if nothing is left to write, or it failed: then it waits for the next time.
     */
    async prepare(stretch: Stretch): Promise<((writer: Writer) => Promise<void>) | undefined> {
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
    through: progress.through,
    trouble: trouble.report,
  }

  /** The unfinished parts in order, as the model read them; a few are asked concurrently. Ends at a failure. */
  async function* readParts(stretch: Stretch): AsyncGenerator<ReadPart | UnreadPart> {
    const { userId, sessionId } = stretch
    const done = await progress.through(userId, sessionId)
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
    const read = await askToLearn(dependencies.askModel, { userId, sessionId, text, signal })
    return read.ok ? { ...read, part } : read
  }

  /** Called after the parts before it are written, so that their content is known. */
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

  /** Writes the part and its watermark together. Does nothing if it was done in between. */
  async function writePartIn(writer: Writer, stretch: Stretch, { part, learned }: ReadPart): Promise<Consolidated> {
    const { userId, sessionId } = stretch
    const { exchanges, fromSeq, throughSeq } = part
    if (!(await progress.passIn(writer, userId, sessionId, throughSeq))) return nothingAdded()
    const label = exchangeLabel(exchanges)
    const startedAt = exchanges[0]?.lines[0]?.at ?? clock.now()
    const endedAt = exchanges.at(-1)?.lines.at(-1)?.at ?? startedAt
    const written = await writeLearnedIn(
      writer,
      dependencies,
      { userId, sessionId, at: endedAt, label, ownWords: ownWords(exchanges), timeZone },
      learned,
    )
    const added = { ...written.added, episodes: 0 }
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
    await trouble.clearIn(writer, userId, sessionId)
    return added
  }

  /** Links it to what was written with it, and to earlier memories of its turns. */
  async function linkMentions(
    writer: Writer,
    userId: string,
    of: { episodeId: string; written: Written; exchanges: readonly Exchange[]; startedAt: number },
  ): Promise<void> {
    const turnIds = of.exchanges.map((exchange) => exchange.turnId)
    const ofTurns = await writer
      .selectFrom('memories')
      .select('id')
      .where('user_id', '=', userId)
      .where('kind', 'in', ['note', 'fact', 'commitment'])
      .where('created_at', '>=', of.startedAt)
      .where('turn_id', 'in', turnIds)
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
  for (const name of Object.keys(sum) as (keyof Consolidated)[]) sum[name] += more[name]
}

async function askToLearn(
  askModel: AskModel,
  question: Omit<Parameters<AskModel>[0], 'purpose' | 'system'>,
  noJson = 'the answer contains no JSON',
): Promise<{ ok: true; learned: Learned } | UnreadPart> {
  const answer = await askModel({ ...question, purpose: 'consolidation', system: prompt })
  if (!answer.ok) return answer
  const learned = readLearned(answer.text)
  return learned ? { ok: true, learned } : { ok: false, reason: 'failed', message: noJson }
}

/** Null for an episode that says too little, or something without evidence. */
function worthwhile(episode: LearnedEpisode | null, exchanges: readonly Exchange[]): LearnedEpisode | null {
  if (!episode || tellingWords(episode.summary).length < leastSummaryWords) return null
  if (holdsSecret(episode.summary) || isAboutTheAgent(episode.summary)) return null
  const evidence = evidenceOf(exchanges.flatMap(({ lines }) => lines.map((line) => line.text)))
  // A summary may use its own words; a decision was made in words.
  if (!isGrounded(episode.summary, evidence, 1 / 3)) return null
  return { ...episode, decisions: episode.decisions.filter((decision) => isGrounded(decision, evidence)) }
}

// About as many tokens as a part of a conversation.
const charactersOfPart = 20_000

export interface ConsolidatedFile {
  userId: string
  /** The readable path: it names the watermark. */
  path: string
  text: string
  at: number
  signal: AbortSignal
}

/**
 * Facts, promises and names from the user's files (`MEMORY.md`, `memory/*.md`). By hash: an unchanged file costs
 * nothing, an interrupted one continues at the part where it stopped.
 */
export function createFileConsolidation(
  dependencies: LearningDependencies,
): (file: ConsolidatedFile) => Promise<ConsolidationOutcome> {
  const { database, askModel, clock, timeZone } = dependencies

  return async ({ userId, path, text, at, signal }) => {
    const added = nothingAdded()
    const name = `consolidated-file:${path}`
    const hash = sha256(text)
    const parts = splitPassages(text, charactersOfPart)
    const first = partsDone(await readMark(database.read, userId, name), hash, parts.length)
    for (const [index, part] of parts.entries()) {
      if (index < first) continue
      const told = `[A file, as of ${formatDay(dayOf(at, timeZone))}]\n${part}`
      const asked = { userId, sessionId: null, text: told, signal }
      const read = await askToLearn(askModel, asked, `${path}: the answer contains no JSON`)
      if (!read.ok) return { ...read, added }
      const from = { userId, said: [part], saidAt: at }
      const sifted = await siftAnswer(dependencies, from, { ...read.learned, notes: [], episode: null })
      const written = await database.write(async (writer) => {
        const result = await writeLearnedIn(writer, dependencies, { userId, at, label: 'internal', timeZone }, sifted)
        await writeMark(writer, { userId, name, value: `${hash} ${index + 1}`, at: clock.now() })
        return result.added
      })
      addTo(added, { ...written, episodes: 0 })
    }
    return { ok: true, parts: Math.max(0, parts.length - first), added }
  }
}

/** How many parts of the current version of the file were done before. */
function partsDone(mark: string | undefined, hash: string, most: number): number {
  const [known, done] = (mark ?? '').split(' ')
  const count = Number(done)
  return known === hash && Number.isSafeInteger(count) ? Math.min(Math.max(0, count), most) : 0
}

const tokensOfPart = 6_000

/** A segment of conversation, small enough for one question to a model. */
interface StretchPart {
  exchanges: readonly Exchange[]
  fromSeq: number
  throughSeq: number
}

/**
 * Split between turns only. The same turns give the same parts, and additions at the end change only the last: so an
 * interrupted run continues where it stopped.
 */
export function splitStretch(exchanges: readonly Exchange[], timeZone: string): StretchPart[] {
  const parts: Exchange[][] = []
  let tokens = Number.POSITIVE_INFINITY
  for (const exchange of exchanges) {
    const own = estimateTokens(describeExchange(exchange, timeZone))
    if (tokens + own > tokensOfPart) {
      parts.push([])
      tokens = 0
    }
    parts.at(-1)?.push(exchange)
    tokens += own
  }
  return parts.map((part) => ({
    exchanges: part,
    fromSeq: part[0]?.lines[0]?.seq ?? part[0]?.throughSeq ?? 0,
    throughSeq: part.at(-1)?.throughSeq ?? 0,
  }))
}
