import { z } from 'zod'
import type { Parsed } from '../../base/json.ts'
import { toStorableText } from '../../base/text.ts'
import { isIndexKey } from '../../storage/index-key.ts'
import { cleanLine } from '../clean-line.ts'
import { checkContent } from '../memory-content.ts'
import { timeFromText } from './time-text.ts'

const time = z.string().transform((text, context) => {
  const at = timeFromText(text)
  if (at !== undefined) return at
  context.addIssue('is no time')
  return z.NEVER
})

/** One line, cleaned as its owner cleans it; what is left empty is refused. */
const line = (longest: number) =>
  z.string().transform((text, context) => {
    const cleaned = cleanLine(text, longest)
    if (cleaned !== null) return cleaned
    context.addIssue('is empty')
    return z.NEVER
  })

const content = z.string().transform((text, context) => {
  try {
    return checkContent(text)
  } catch (cause) {
    context.addIssue(cause instanceof Error ? cause.message : 'does not fit')
    return z.NEVER
  }
})

const name = line(200)
// Two of them stand in one index entry of the edges.
const reference = z.string().min(1).max(500).refine(isIndexKey, 'is too long').transform(toStorableText)
const share = z.number().min(0).max(1)

const factSchema = z.object({
  entity: name,
  attribute: name,
  value: line(10_000),
  confidence: share,
  valid_from: time,
  valid_to: time.optional(),
})

const episodeSchema = z.object({
  topics: z.array(line(500)).default([]),
  decisions: z.array(line(500)).default([]),
  tone: line(500).optional(),
  started_at: time,
  ended_at: time,
})

const commitmentSchema = z.object({
  who: name,
  to_whom: name.optional(),
  what: line(2_000),
  deadline: time.optional(),
  state: z.enum(['open', 'done', 'expired', 'cancelled']),
  closed_at: time.optional(),
})

const memorySchema = z.object({
  type: z.literal('memory'),
  id: reference,
  kind: z.enum(['note', 'fact', 'episode', 'commitment', 'chunk']),
  content,
  title: z.string().optional(),
  category: z.string().optional(),
  tags: z.array(z.string()).default([]),
  tier: z.enum(['short_term', 'long_term']).default('long_term'),
  priority: share.optional(),
  source: z.enum(['user', 'agent', 'extracted', 'tool', 'import']).default('user'),
  label: z.enum(['owner', 'internal', 'untrusted']).optional(),
  session_id: reference.optional(),
  turn_id: reference.optional(),
  thread_id: reference.optional(),
  position: z.number().int().optional(),
  passages: z.number().int().min(1).optional(),
  speaker: reference.optional(),
  happened_from: time.optional(),
  happened_until: time.optional(),
  created_at: time,
  updated_at: time.optional(),
  used_at: time.optional(),
  use_count: z.number().int().min(0).default(0),
  cycle: z.number().int().default(0),
  superseded_at: time.optional(),
  superseded_by: reference.optional(),
  fact: factSchema.optional(),
  episode: episodeSchema.optional(),
  commitment: commitmentSchema.optional(),
})

const edgeSchema = z.object({
  type: z.literal('edge'),
  source_id: reference,
  target_id: reference,
  relation: line(100),
  weight: share,
  created_at: time,
})

/** One thing of an export, whatever the form of the file: checked and cleaned, with times in milliseconds. */
const recordSchema = z.discriminatedUnion('type', [
  memorySchema,
  edgeSchema,
  z.object({ type: z.literal('alias'), alias: name, entity: name }),
  z.object({ type: z.literal('attribute'), attribute: name, is_multi_valued: z.boolean() }),
  z.object({ type: z.literal('folder'), path: z.string().min(1).max(4_096) }),
])

export type TransferRecord = z.output<typeof recordSchema>
export type MemoryRecord = z.output<typeof memorySchema>
export type EdgeRecord = z.output<typeof edgeSchema>

/** As it is written: times as text, and nothing that is null. */
export type WrittenRecord = z.input<typeof recordSchema>
export type WrittenMemory = z.input<typeof memorySchema>

/** What an export begins with. */
export const headerSchema = z.object({
  familiar: z.literal('memories'),
  version: z.number().int().min(1),
  user: z.string(),
  /** How many cycles the user had had: what each memory's own is counted against. */
  cycles: z.number().int().min(0).default(0),
})

export type TransferHeader = z.infer<typeof headerSchema>
export const transferVersion = 1

export function parseRecord(value: unknown): Parsed<TransferRecord> {
  const checked = recordSchema.safeParse(value)
  if (checked.success) return { ok: true, value: checked.data }
  const issue = checked.error.issues[0]
  return { ok: false, message: `${issue?.path.join('.') || 'value'}: ${issue?.message ?? 'does not fit'}` }
}
