import { type RawBuilder, type SqlBool, sql } from 'kysely'
import { z } from 'zod'
import { sha256 } from '../base/ids.ts'
import { parseJson, snakeKeys } from '../base/json.ts'
import { toStorableText } from '../base/text.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Reader } from '../storage/database.ts'
import type { MemoryRow } from '../storage/tables.ts'
import { attributeKey, wordLists } from './words.ts'

export type MemoryKind = MemoryRow['kind']
export type Retention = MemoryRow['tier']
export type MemorySource = MemoryRow['source']
export type MemoryLabel = MemoryRow['label']

/** One memory of one user: a note, fact, episode, commitment, or a passage of a file or past conversation. */
export type Memory = z.infer<typeof memorySchema>

export const memorySchema = z.object({
  number: z.number(),
  id: z.string(),
  userId: z.string(),
  kind: z.enum(['note', 'fact', 'episode', 'commitment', 'chunk']),
  /** The text that is searched, shown and cited. */
  content: z.string(),
  title: z.string().nullable(),
  category: z.string().nullable(),
  tags: z.array(z.string()).readonly(),
  tier: z.enum(['short_term', 'long_term']),
  /** 0 to 1, as written. `decay.ts` computes its current value. */
  priority: z.number(),
  source: z.enum(['user', 'agent', 'extracted', 'tool', 'import']),
  label: z.enum(['owner', 'internal', 'untrusted']),
  sessionId: z.string().nullable(),
  turnId: z.string().nullable(),
  threadId: z.string().nullable(),
  position: z.number().nullable(),
  /** The number of passages of its text; 1 for a whole one. */
  passages: z.number(),
  speaker: z.string().nullable(),
  happenedFrom: z.number().nullable(),
  happenedUntil: z.number().nullable(),
  createdAt: z.number(),
  updatedAt: z.number(),
  usedAt: z.number(),
  useCount: z.number(),
  cycle: z.number(),
  /** Not null: history, not offered as true. */
  supersededAt: z.number().nullable(),
  supersededBy: z.string().nullable(),
})

export type UnstoredMemory = Omit<Memory, 'number'>

export type Optional<Fields extends keyof Memory> = { [Field in Fields]?: Memory[Field] | undefined }

/** Defaults: long-term retention with its priority, the label `owner` for the user's text and `internal` otherwise. */
export type NewMemory = Pick<Memory, 'userId' | 'kind' | 'content'> &
  Origin &
  Optional<'title' | 'category' | 'tags' | 'tier' | 'priority' | 'threadId' | 'position' | 'passages' | 'speaker'> & {
    /** Derived from its cause, so that the same cause twice makes one memory. */
    id?: string | undefined
  }

export type Origin = Pick<Memory, 'source'> &
  Optional<'label' | 'sessionId' | 'turnId'> & {
    /** When it was said, or became true; default: now. */
    at?: number | undefined
  }

export function originOf({ source, label, sessionId, turnId, at }: Origin): Origin {
  return { source, label, sessionId, turnId, at }
}

/** The source is given if it differs from the original one. */
export type MemoryEdit = Optional<'content' | 'title' | 'category' | 'tags' | 'tier' | 'priority' | 'source' | 'label'>

/** Spelled out: recall reads hundreds of rows per question. */
export function memoryFromRow(row: MemoryRow): Memory {
  return {
    number: row.number,
    id: row.id,
    userId: row.user_id,
    kind: row.kind,
    content: row.content,
    title: row.title,
    category: row.category,
    // Most have none.
    tags: row.tags === '[]' ? [] : readList(row.tags),
    tier: row.tier,
    priority: row.priority,
    source: row.source,
    label: row.label,
    sessionId: row.session_id,
    turnId: row.turn_id,
    threadId: row.thread_id,
    position: row.position,
    passages: row.passages,
    speaker: row.speaker,
    happenedFrom: row.happened_from,
    happenedUntil: row.happened_until,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    usedAt: row.used_at,
    useCount: row.use_count,
    cycle: row.cycle,
    supersededAt: row.superseded_at,
    supersededBy: row.superseded_by,
  }
}

export function rowFromMemory({ number: _, ...memory }: UnstoredMemory & { number?: number }): UnstoredMemoryRow {
  return {
    ...snakeKeys(memory),
    content_hash: contentHash(memory.content),
    tags: JSON.stringify(memory.tags),
    is_standing: standingWish(memory) > 0 ? 1 : 0,
  }
}

type UnstoredMemoryRow = Omit<MemoryRow, 'number'>

export function contentHash(content: string): string {
  return sha256(content).slice(0, 32)
}

/** Any text as one storable line: white space joined, cut at `longest` characters. Null for empty text. */
export function cleanLine(text: string | null | undefined, longest: number): string | null {
  const line = toStorableText(text ?? '')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, longest)
    .toWellFormed()
  return line === '' ? null : line
}

/** The same for required text that may not be cut. `what` begins the message: "A name". */
export function requireLine(text: string, { what, longest }: { what: string; longest: number }): string {
  const line = cleanLine(text, longest + 1)
  if (line === null) throw new FamiliarError('bad_request', `${what} needs some text`)
  if (line.length > longest)
    throw new FamiliarError('payload_too_large', `${what} may have at most ${longest} characters`)
  return line
}

/**
 * Checks that a row belongs to the user, for rows that are selected by key. Written so that no index is used: SQLite
 * would otherwise scan all of a user's million rows instead of looking up two hundred by their keys.
 */
export function isOf(userId: string): RawBuilder<boolean> {
  return sql<boolean>`coalesce(user_id, '') = ${userId}`
}

/** The row of a user in a table whose key is its id. */
export function isRow(userId: string, id: string): RawBuilder<SqlBool> {
  return sql<SqlBool>`user_id = ${userId} and id = ${id}`
}

/** A text that holds a list of texts. A damaged one has none. */
export function readList(text: string): string[] {
  const list = parseJson(text, z.array(z.string()))
  return list.ok ? list.value : []
}

const maxContentLength = 1_000_000
const maxTags = 16
const maxTagLength = 64
const maxTitleLength = 200

export function checkContent(text: string): string {
  const content = toStorableText(text).trim()
  if (content === '') throw new FamiliarError('bad_request', 'A memory needs some text')
  if (content.length > maxContentLength) {
    throw new FamiliarError('payload_too_large', `A memory may have at most ${maxContentLength} characters`)
  }
  return content
}

export function cleanTags(tags: readonly string[]): string[] {
  const cleaned = tags.flatMap((tag) => cleanLine(tag, maxTagLength) ?? [])
  return [...new Set(cleaned)].slice(0, maxTags)
}

export function cleanMemoryTitle(title: string | null | undefined): string | null {
  return cleanLine(title, maxTitleLength)
}

export function cleanCategory(category: string | null | undefined): string | null {
  return cleanLine(category, maxTagLength)
}

/** All text of a memory that words of a question may match. */
export function searchedText({ content, title, category, tags }: UnstoredMemory): string {
  return [content, title, category, ...tags].filter(Boolean).join('\n')
}

/** A filter for memories, apart from their kind. Empty: all. */
export interface MemoryFilter {
  tier?: Retention | undefined
  source?: MemorySource | undefined
  /** Exact match. */
  tag?: string | undefined
  /** When it was said, inclusive. */
  from?: number | undefined
  until?: number | undefined
}

export function passesFilter(memory: Memory, { tier, source, tag, from, until }: MemoryFilter): boolean {
  return (
    (tier === undefined || memory.tier === tier) &&
    (source === undefined || memory.source === source) &&
    (tag === undefined || memory.tags.includes(tag)) &&
    (from === undefined || memory.createdAt >= from) &&
    (until === undefined || memory.createdAt <= until)
  )
}

/** The same as SQL conditions. */
export function filterConditions(
  userId: string,
  { tier, source, tag, from, until }: MemoryFilter,
): RawBuilder<SqlBool>[] {
  const conditions = [
    tier !== undefined && sql<SqlBool>`tier = ${tier}`,
    source !== undefined && sql<SqlBool>`source = ${source}`,
    tag !== undefined &&
      sql<SqlBool>`number in (select number from memory_tags where user_id = ${userId} and tag = ${tag})`,
    from !== undefined && sql<SqlBool>`created_at >= ${from}`,
    until !== undefined && sql<SqlBool>`created_at <= ${until}`,
  ]
  return conditions.filter((condition) => condition !== false)
}

/** A user's memories that pass a filter. */
export interface Allowed {
  /** As an SQL condition. */
  condition: RawBuilder<SqlBool>
  /** All of them, if they are few enough to be listed. */
  few: { id: string; number: number }[] | undefined
}

// Reading so many takes about 30 ms, and comparing their vectors as long again.
const maxNamed = 20_000

/** Undefined if there is no filter. */
export async function readAllowed(
  read: Reader,
  { userId, kinds, filter }: { userId: string; kinds: readonly MemoryKind[] | undefined; filter: MemoryFilter },
): Promise<Allowed | undefined> {
  const conditions = filterConditions(userId, filter)
  if (kinds) conditions.push(kinds.length === 0 ? sql<SqlBool>`1 = 0` : sql<SqlBool>`kind in (${sql.join(kinds)})`)
  if (conditions.length === 0) return undefined
  const condition = sql<SqlBool>`${sql.join(conditions, sql` and `)}`
  const { rows } = await sql<{ id: string; number: number }>`
    select id, number from memories
    where user_id = ${userId} and superseded_at is null and ${condition} limit ${maxNamed + 1}`.execute(read)
  return { condition, few: rows.length > maxNamed ? undefined : rows }
}

const orders = /^(?:please,? )?(?:always|never|from now on|whenever i|when i ask|do not ever|don['’]t ever)\b/i
const whenAsked = /\b(?:when(?:ever)?|each time|every time) i ask\b/i
const preference = /\bi(?:['’]d| would)? (?:always )?prefer\b/i
const readCharacters = 300

/**
 * How much a memory is a standing wish ("Always answer in metric units", "I prefer short replies"): such a wish applies
 * to questions that share no word with it. Only the user's own words count: untrusted text must not become a rule.
 */
export function standingWish({ content, speaker, label }: Pick<Memory, 'content' | 'speaker' | 'label'>): number {
  if (label === 'untrusted' || (speaker !== null && speaker !== 'user')) return 0
  const beginning = content.slice(0, readCharacters)
  if (orders.test(beginning) || whenAsked.test(beginning)) return 1
  return preference.test(beginning) ? 0.5 : 0
}

const multiValued = new Set(wordLists.multiValuedAttributes.split(', ').map(attributeKey))

/** Everything else has one value, until the user declares otherwise. */
export function isUsuallyMultiValued(key: string): boolean {
  return multiValued.has(key)
}
