import { z } from 'zod'
import { sha256 } from '../base/hash.ts'
import { parseJson } from '../base/json.ts'
import type { MemoryRow } from '../storage/tables.ts'
import { standingWish } from './standing-wish.ts'

export type MemoryKind = MemoryRow['kind']
export type MemoryTier = MemoryRow['tier']
export type MemorySource = MemoryRow['source']
export type MemoryLabel = MemoryRow['label']

const tagsSchema = z.array(z.string())

/** One thing remembered for one user: a note, fact, episode, commitment, or a passage of a file or past conversation. */
export interface Memory {
  number: number
  id: string
  userId: string
  kind: MemoryKind
  /** As one text: what is searched, shown and cited. */
  content: string
  title: string | null
  category: string | null
  tags: readonly string[]
  tier: MemoryTier
  /** 0 to 1, as written. `decay.ts` says what it has faded to. */
  priority: number
  source: MemorySource
  label: MemoryLabel
  sessionId: string | null
  turnId: string | null
  threadId: string | null
  position: number | null
  /** How many passages its text was cut into; 1 for a whole one. */
  passages: number
  speaker: string | null
  happenedFrom: number | null
  happenedUntil: number | null
  createdAt: number
  updatedAt: number
  usedAt: number
  useCount: number
  cycle: number
  /** Not null: history, not offered as true. */
  supersededAt: number | null
  supersededBy: string | null
}

export interface MemoryEdit {
  content?: string | undefined
  title?: string | null | undefined
  category?: string | null | undefined
  tags?: readonly string[] | undefined
  tier?: MemoryTier | undefined
  priority?: number | undefined
  /** Where it is not by whom it was first told. */
  source?: MemorySource | undefined
  label?: MemoryLabel | undefined
}

export function memoryFromRow(row: MemoryRow): Memory {
  return {
    number: row.number,
    id: row.id,
    userId: row.user_id,
    kind: row.kind,
    content: row.content,
    title: row.title,
    category: row.category,
    tags: readTags(row.tags),
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

/** A damaged list of tags must not make the memory itself unreadable. */
function readTags(json: string): readonly string[] {
  // Recall reads hundreds of rows for a question, and most have none.
  if (json === '[]') return []
  const tags = parseJson(json, tagsSchema)
  return tags.ok ? tags.value : []
}

export function rowFromMemory(memory: Omit<Memory, 'number'>): Omit<MemoryRow, 'number'> {
  return {
    id: memory.id,
    user_id: memory.userId,
    kind: memory.kind,
    content: memory.content,
    content_hash: contentHash(memory.content),
    title: memory.title,
    category: memory.category,
    tags: JSON.stringify(memory.tags),
    tier: memory.tier,
    priority: memory.priority,
    source: memory.source,
    label: memory.label,
    session_id: memory.sessionId,
    turn_id: memory.turnId,
    thread_id: memory.threadId,
    position: memory.position,
    passages: memory.passages,
    speaker: memory.speaker,
    happened_from: memory.happenedFrom,
    happened_until: memory.happenedUntil,
    is_standing: standingWish(memory) > 0 ? 1 : 0,
    created_at: memory.createdAt,
    updated_at: memory.updatedAt,
    used_at: memory.usedAt,
    use_count: memory.useCount,
    cycle: memory.cycle,
    superseded_at: memory.supersededAt,
    superseded_by: memory.supersededBy,
  }
}

export function contentHash(content: string): string {
  return sha256(content).slice(0, 32)
}
