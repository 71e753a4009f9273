import { z } from 'zod'
import { toDisplayText, toStorableText } from '../../base/text.ts'
import type { Json } from '../../protocol/json.ts'
import type { MemoryTier } from '../memory.ts'
import { fieldOf, readItems, readModelJson } from './parse-model-json.ts'

export interface LearnedNote {
  content: string
  tags: readonly string[]
  tier: MemoryTier
}

export interface LearnedFact {
  entity: string
  attribute: string
  value: string
  confidence: number
}

export interface LearnedCommitment {
  who: string
  toWhom: string | null
  what: string
  /** As the model wrote it: an ISO date, or nothing that can be read. */
  deadline: string | null
}

export interface LearnedAlias {
  alias: string
  entity: string
}

export interface LearnedEpisode {
  summary: string
  topics: readonly string[]
  decisions: readonly string[]
  tone: string | null
}

/** What a model, or a plain reading, took from a text. Nothing of it is believed yet. */
export interface Learned {
  notes: readonly LearnedNote[]
  facts: readonly LearnedFact[]
  commitments: readonly LearnedCommitment[]
  aliases: readonly LearnedAlias[]
  episode: LearnedEpisode | null
}

const most = { notes: 10, facts: 20, commitments: 10, aliases: 10, tags: 6, topics: 8, decisions: 8 }
/** No model is as sure of what it read as the user who says it. */
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
  .object({
    who: name,
    to_whom: name.nullish().catch(null),
    what: line(2, 300),
    deadline: line(4, 40).nullish().catch(null),
  })
  .transform(({ who, to_whom: toWhom, what, deadline }) => ({
    who,
    toWhom: toWhom ?? null,
    what,
    deadline: deadline ?? null,
  }))
const aliasSchema = z
  .object({ alias: name, entity: name })
  .refine(({ alias, entity }) => alias.toLowerCase() !== entity.toLowerCase())
const episodeSchema = z.object({
  summary: line(10, 2_000),
  topics: listOf(line(2, 60), most.topics),
  decisions: listOf(line(3, 300), most.decisions),
  tone: line(2, 60).nullish().catch(null),
})

/** A model's answer to the prompts beside this file. Undefined where it holds no JSON at all. */
export function readLearned(answer: string): Learned | undefined {
  const value = readModelJson(answer)
  if (value === undefined) return undefined
  // A bare list holds items of any kind: each is known by its fields.
  const list = (field: string): Json | undefined => (Array.isArray(value) ? value : fieldOf(value, field))
  const episode = episodeSchema.safeParse(fieldOf(value, 'episode'))
  return {
    notes: readItems(list('notes'), noteSchema, most.notes),
    facts: readItems(list('facts'), factSchema, most.facts),
    commitments: readItems(list('commitments'), commitmentSchema, most.commitments),
    aliases: readItems(list('aliases'), aliasSchema, most.aliases),
    episode: episode.success ? { ...episode.data, tone: episode.data.tone ?? null } : null,
  }
}

/** One line of harmless text. What is too long is refused, not cut: half a sentence may say the opposite. */
function line(shortest: number, longest: number) {
  return z
    .string()
    .max(longest * 4)
    .transform((text) => toDisplayText(toStorableText(text)).replaceAll(/\s+/g, ' ').trim())
    .pipe(z.string().min(shortest).max(longest))
}

function listOf<T>(item: z.ZodType<T>, atMost: number) {
  return z
    .unknown()
    .optional()
    .transform((value): T[] => readItems(value as Json | undefined, item, atMost))
}
