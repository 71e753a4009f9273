import { z } from 'zod'
import { readBundledText } from '../../base/files.ts'
import { toDisplayText, toStorableText } from '../../base/text.ts'
import type { Json } from '../../protocol/messages.ts'
import type { Facts } from '../facts.ts'
import { createProgress } from '../memories.ts'
import type { MemoryLabel } from '../memory.ts'
import { attributeKey, foldText } from '../words.ts'
import { createTrouble, fieldOf, readItems, readModelJson } from './ask-model.ts'
import {
  describeExchange,
  type Exchange,
  exchangeLabel,
  isPlainQuestion,
  isTrivial,
  ownWords,
  userTexts,
} from './exchange.ts'
import { hasPlainStatements, isRelation, readPlainStatements } from './plain-statements.ts'
import {
  type LearningDependencies,
  type LearntFrom,
  leaveOutForgotten,
  leaveOutKnown,
  nothingWritten,
  siftAnswer,
  type WrittenCount,
  writeLearnedIn,
} from './write-learned.ts'

const prompt = readBundledText(new URL('./prompts/extraction.md', import.meta.url))

type ExtractionOutcome =
  | { status: 'known' }
  /** Nothing worth keeping: no model was asked. */
  | { status: 'trivial' }
  | { status: 'learnt'; by: 'model' | 'form'; added: WrittenCount }
  /** Nothing was written. `again`: the same turn must be retried later, before any later one. */
  | { status: 'failed'; reason: string; again: boolean }

/** Extracts what is worth keeping from a turn, once (MEM-8). */
export type Extraction = ReturnType<typeof createExtraction>

export const extractedMark = (sessionId: string) => `extracted:${sessionId}`

export function createExtraction(dependencies: LearningDependencies) {
  const { database, askModel, clock, logger, timeZone } = dependencies
  const progress = createProgress(dependencies, extractedMark)
  const trouble = createTrouble({ database, clock, logger, task: 'extraction' })

  return {
    /** Turns of one session come in order; of one user, one at a time. */
    async extract(userId: string, exchange: Exchange, signal: AbortSignal): Promise<ExtractionOutcome> {
      const { sessionId, throughSeq } = exchange
      if ((await progress.through(userId, sessionId)) >= throughSeq) return { status: 'known' }
      const said = userTexts([exchange])
      if (said.every(tellsNothing)) {
        await progress.passOver(userId, sessionId, throughSeq)
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
      if (!learned) return failed(userId, exchange, { reason: 'malformed', message: 'the answer contains no JSON' })
      const sifted = await siftAnswer(dependencies, { userId, said, saidAt: exchange.at }, learned)
      return { status: 'learnt', by: 'model', added: await write(userId, exchange, sifted) }
    },
    passOver: progress.passOver,
    through: progress.through,
    trouble: trouble.report,
  }

  async function write(
    userId: string,
    exchange: Exchange,
    learned: Learned,
    label: MemoryLabel = exchangeLabel([exchange]),
  ): Promise<WrittenCount> {
    const { sessionId, turnId, throughSeq } = exchange
    const from = { userId, sessionId, turnId, at: exchange.at, label, ownWords: ownWords([exchange]), timeZone }
    return database.write(async (writer) => {
      if (!(await progress.passIn(writer, userId, sessionId, throughSeq))) return nothingWritten
      const { added } = await writeLearnedIn(writer, dependencies, from, learned)
      await trouble.clearIn(writer, userId, sessionId)
      return added
    })
  }

  /** Plain statements can be read without a model, and if the model fails permanently. */
  async function learnPlainly(userId: string, exchange: Exchange): Promise<ExtractionOutcome> {
    const text = userTexts([exchange]).join('\n')
    const learned = await readPlainly(dependencies, { userId, text, at: exchange.at })
    // Read from the user's own lines only.
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
    // A stop is not a failure of the turn, and the budget is renewed the next day: neither counts.
    if (failure.reason === 'aborted') return { status: 'failed', reason, again: true }
    if (failure.reason === 'budget') {
      logger.warn('extraction waits for the budget', { session: sessionId, reason: failure.message })
      return { status: 'failed', reason, again: true }
    }
    if (!(await trouble.note({ userId, sessionId, seq, reason }))) return { status: 'failed', reason, again: true }
    await learnPlainly(userId, exchange)
    return { status: 'failed', reason, again: false }
  }
}

function tellsNothing(text: string): boolean {
  return (isTrivial(text) || isPlainQuestion(text)) && !hasPlainStatements(text)
}

/**
 * "My colleague Anna", when Anna is known as the sister, is another person of that name: `Anna (colleague)`. Otherwise
 * facts about one would replace those about the other.
 */
async function tellNamesakesApart(facts: Facts, userId: string, learned: Learned): Promise<Learned> {
  const others = new Map<string, string>()
  for (const { entity, attribute, value } of learned.facts) {
    if (entity !== 'user' || !isRelation(attribute)) continue
    const known = await facts.find({ userId, entity: 'user', value })
    const sameName = known.filter((fact) => isRelation(fact.attribute) && foldText(fact.value) === foldText(value))
    const isKnown = sameName.some((fact) => attributeKey(fact.attribute) === attributeKey(attribute))
    if (sameName.length > 0 && !isKnown) others.set(value, `${value} (${attribute})`)
  }
  if (others.size === 0) return learned
  const renamed = (name: string) => others.get(name) ?? name
  return {
    ...learned,
    facts: learned.facts.map((fact) => ({ ...fact, entity: renamed(fact.entity), value: renamed(fact.value) })),
    commitments: learned.commitments.map((commitment) => ({
      ...commitment,
      who: renamed(commitment.who),
      toWhom: commitment.toWhom === null ? null : renamed(commitment.toWhom),
    })),
    aliases: learned.aliases.map(({ alias, entity }) => ({ alias, entity: renamed(entity) })),
  }
}

type Dependencies = Omit<LearningDependencies, 'askModel' | 'clock' | 'logger'>

/** Plain statements of a text that are not known yet, ready to be written. */
async function readPlainly(
  dependencies: Dependencies,
  { userId, text, at }: { userId: string; text: string; at: number },
): Promise<Learned> {
  const { database, facts, timeZone } = dependencies
  const statements = readPlainStatements(text, at, timeZone)
  for (const attribute of statements.multiValued) await facts.declareMultiValued(userId, attribute)
  const learned = await tellNamesakesApart(facts, userId, statements)
  const fresh = await leaveOutForgotten(database, { userId, saidAt: at }, learned)
  return leaveOutKnown(dependencies, userId, fresh)
}

/** The same, written at once: for a note stored at the user's request. It adds to the note and changes nothing. */
export async function learnPlainly(
  dependencies: Dependencies,
  from: Omit<LearntFrom, 'timeZone'> & { text: string },
): Promise<WrittenCount> {
  const { database, timeZone } = dependencies
  const learned = await readPlainly(dependencies, from)
  const { facts, commitments, aliases, ended = [] } = learned
  if (facts.length + commitments.length + aliases.length + ended.length === 0) return nothingWritten
  const written = await database.write((writer) => writeLearnedIn(writer, dependencies, { ...from, timeZone }, learned))
  return written.added
}

export type LearnedNote = z.infer<typeof noteSchema>
export type LearnedFact = z.infer<typeof factSchema>
/** Its deadline as the model wrote it: an ISO date, or unreadable text. */
export type LearnedCommitment = z.infer<typeof commitmentSchema>
export type LearnedAlias = z.infer<typeof aliasSchema>
export type LearnedEpisode = z.infer<typeof episodeSchema>

/** The results that a model, or a plain reading, extracted from a text. They are not verified yet. */
export interface Learned {
  notes: readonly LearnedNote[]
  facts: readonly LearnedFact[]
  commitments: readonly LearnedCommitment[]
  aliases: readonly LearnedAlias[]
  /** Facts that are no longer true: "I am not vegetarian any more". */
  ended?: readonly Omit<LearnedFact, 'confidence'>[]
  episode: LearnedEpisode | null
}

const most = { notes: 10, facts: 20, commitments: 10, aliases: 10, tags: 6, topics: 8, decisions: 8 }
/** A model's confidence is lower than that of the user's own statement. */
const surest = 0.9
const usualConfidence = 0.8

const name = line(1, 80)
const noteSchema = z.object({
  content: line(3, 600),
  tags: listOf(line(1, 40), most.tags),
  tier: z.enum(['short_term', 'long_term']).catch('long_term'),
})
const factSchema = z.object({
  entity: name,
  attribute: line(1, 60).transform((text) => text.replaceAll('_', ' ')),
  value: z.union([line(1, 300), z.number().transform(String), z.boolean().transform(String)]),
  confidence: z
    .number()
    .min(0)
    .max(1)
    .catch(usualConfidence)
    .transform((confidence) => Math.min(confidence, surest)),
})
const commitmentSchema = z
  .object({ who: name, to_whom: orNull(name), what: line(2, 300), deadline: orNull(line(4, 40)) })
  .transform(({ to_whom: toWhom, ...commitment }) => ({ ...commitment, toWhom }))
const aliasSchema = z
  .object({ alias: name, entity: name })
  .refine(({ alias, entity }) => alias.toLowerCase() !== entity.toLowerCase())
const episodeSchema = z.object({
  summary: line(10, 2_000),
  topics: listOf(line(2, 60), most.topics),
  decisions: listOf(line(3, 300), most.decisions),
  tone: orNull(line(2, 60)),
})

/** Parses a model's answer to these prompts. Undefined if it contains no JSON. */
export function readLearned(answer: string): Learned | undefined {
  const value = readModelJson(answer)
  if (value === undefined) return undefined
  // A bare list contains items of any kind, recognized by their fields.
  const list = (field: string): Json | undefined => (Array.isArray(value) ? value : fieldOf(value, field))
  const episode = episodeSchema.safeParse(fieldOf(value, 'episode'))
  return {
    notes: readItems(list('notes'), noteSchema, most.notes),
    facts: readItems(list('facts'), factSchema, most.facts),
    commitments: readItems(list('commitments'), commitmentSchema, most.commitments),
    aliases: readItems(list('aliases'), aliasSchema, most.aliases),
    episode: episode.success ? episode.data : null,
  }
}

/** One line of sanitized text. Text that is too long is rejected, not cut: half a sentence may say the opposite. */
function line(shortest: number, longest: number) {
  return z
    .string()
    .max(longest * 4)
    .transform((text) => toDisplayText(toStorableText(text)).replaceAll(/\s+/g, ' ').trim())
    .pipe(z.string().min(shortest).max(longest))
}

function orNull(text: ReturnType<typeof line>) {
  return text
    .nullish()
    .catch(null)
    .transform((value) => value ?? null)
}

function listOf<T>(item: z.ZodType<T>, atMost: number) {
  return z
    .unknown()
    .optional()
    .transform((value): T[] => readItems(value as Json | undefined, item, atMost))
}
