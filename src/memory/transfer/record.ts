import { z } from 'zod'
import type { Parsed } from '../../base/json.ts'
import { toStorableText } from '../../base/text.ts'
import { isIndexKey } from '../../storage/database.ts'
import { checkContent, cleanLine } from '../memory.ts'

const dayMs = 86_400_000
const furthest = 8_640_000_000_000_000

/** ISO 8601 in UTC, to the millisecond. */
function timeText(at: number): string {
  return new Date(Math.min(furthest, Math.max(-furthest, Math.trunc(at)))).toISOString()
}

/** The same, but a whole day is only its date. */
export function shortTimeText(at: number): string {
  return at === startOfUtcDay(at) ? dayText(at) : timeText(at)
}

/** `2026-11-15` */
export function dayText(at: number): string {
  return timeText(at).replace(/T.*/, '')
}

export function startOfUtcDay(at: number): number {
  return Math.floor(at / dayMs) * dayMs
}

export function endOfUtcDay(at: number): number {
  return startOfUtcDay(at) + dayMs
}

// Not everything that Date.parse accepts: "1" would be the year 2001, in this machine's time zone.
const isoTime = /^(?:\d{4}|[+-]\d{6})-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/

/** A date or a time with its zone. Undefined for anything else. */
export function timeFromText(text: string): number | undefined {
  const at = isoTime.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}

const time = z.string().transform((text, context) => {
  const at = timeFromText(text)
  if (at !== undefined) return at
  context.addIssue('is not a valid time')
  return z.NEVER
})

const optionalTime = time.optional()

/** The text of each field of a row that the schema has, in its order: times as text, without nulls. */
export function writtenRow<Schema extends z.ZodObject>(schema: Schema, row: Record<string, unknown>): z.input<Schema> {
  const fields = Object.entries(schema.shape).flatMap(([name, field]) => {
    const value = row[name] ?? undefined
    if (value === undefined) return []
    return [[name, field === time || field === optionalTime ? timeText(Number(value)) : value]]
  })
  return Object.fromEntries(fields)
}

/** One line, cleaned like its owner's; empty text is rejected. */
const line = (longest: number) =>
  z.string().transform((text, context) => {
    const cleaned = cleanLine(text, longest)
    if (cleaned !== null) return cleaned
    context.addIssue('is empty')
    return z.NEVER
  })

export const contentSchema = z.string().transform((text, context) => {
  try {
    return checkContent(text)
  } catch (cause) {
    context.addIssue(cause instanceof Error ? cause.message : 'is not valid')
    return z.NEVER
  }
})

const name = line(200)
// Two of them form one index entry of the edges.
const reference = z.string().min(1).max(500).refine(isIndexKey, 'is too long').transform(toStorableText)
const share = z.number().min(0).max(1)

export const factSchema = z.object({
  entity: name,
  attribute: name,
  value: line(10_000),
  confidence: share,
  valid_from: time,
  valid_to: optionalTime,
})

export const episodeSchema = z.object({
  topics: z.array(line(500)).default([]),
  decisions: z.array(line(500)).default([]),
  tone: line(500).optional(),
  started_at: time,
  ended_at: time,
})

export const commitmentSchema = z.object({
  who: name,
  to_whom: name.optional(),
  what: line(2_000),
  deadline: optionalTime,
  state: z.enum(['open', 'done', 'expired', 'cancelled']),
  closed_at: optionalTime,
})

export const memoryRecordSchema = z.object({
  type: z.literal('memory'),
  id: reference,
  kind: z.enum(['note', 'fact', 'episode', 'commitment', 'chunk']),
  content: contentSchema,
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
  happened_from: optionalTime,
  happened_until: optionalTime,
  created_at: time,
  updated_at: optionalTime,
  used_at: optionalTime,
  use_count: z.number().int().min(0).default(0),
  cycle: z.number().int().default(0),
  superseded_at: optionalTime,
  superseded_by: reference.optional(),
  fact: factSchema.optional(),
  episode: episodeSchema.optional(),
  commitment: commitmentSchema.optional(),
})

export const edgeSchema = z.object({
  type: z.literal('edge'),
  source_id: reference,
  target_id: reference,
  relation: line(100),
  weight: share,
  created_at: time,
})

/** One record of an export, in either format: validated and cleaned, with times in milliseconds. */
const recordSchema = z.discriminatedUnion('type', [
  memoryRecordSchema,
  edgeSchema,
  z.object({ type: z.literal('alias'), alias: name, entity: name }),
  z.object({ type: z.literal('attribute'), attribute: name, is_multi_valued: z.boolean() }),
  z.object({ type: z.literal('folder'), path: z.string().min(1).max(4_096) }),
])

export type TransferRecord = z.output<typeof recordSchema>
export type MemoryRecord = z.output<typeof memoryRecordSchema>
export type EdgeRecord = z.output<typeof edgeSchema>

/** In written form: times as text, without nulls. */
export type WrittenRecord = z.input<typeof recordSchema>
export type WrittenMemory = z.input<typeof memoryRecordSchema>

export const headerSchema = z.object({
  familiar: z.literal('memories'),
  version: z.number().int().min(1),
  user: z.string(),
  /** The user's cycle count, which each memory's own is relative to. */
  cycles: z.number().int().min(0).default(0),
})

export type TransferHeader = z.infer<typeof headerSchema>
export const transferVersion = 1

export function parseRecord(value: unknown): Parsed<TransferRecord> {
  const checked = recordSchema.safeParse(value)
  if (checked.success) return { ok: true, value: checked.data }
  const issue = checked.error.issues[0]
  return { ok: false, message: `${issue?.path.join('.') || 'value'}: ${issue?.message ?? 'is not valid'}` }
}
