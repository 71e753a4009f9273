import { z } from 'zod'
import { parseJson } from '../../base/json.ts'
import type { Database } from '../../storage/database.ts'
import type { CommitmentRow, EpisodeRow, FactRow } from '../../storage/tables.ts'
import type { Memory } from '../memory.ts'
import type { WrittenMemory } from './record.ts'
import { timeText } from './time-text.ts'

/** Whose records, and how many rows are read at once. Nobody else waits for longer than a page. */
export interface Reading {
  database: Database
  userId: string
  rowsPerPage: number
}

/** The rows of the kinds' own tables, by the id of the memory. */
export interface Details {
  facts: Map<string, FactRow>
  episodes: Map<string, EpisodeRow>
  commitments: Map<string, CommitmentRow>
}

export async function readDetails({ database, userId }: Reading, memories: readonly Memory[]): Promise<Details> {
  const ids = memories.map((memory) => memory.id)
  const read = async <Row extends { id: string }>(table: 'facts' | 'episodes' | 'commitments') => {
    const rows = await database.read
      .selectFrom(table)
      .selectAll()
      .where('user_id', '=', userId)
      .where('id', 'in', ids)
      .execute()
    return new Map(rows.map((row) => [row.id, row as unknown as Row]))
  }
  return { facts: await read('facts'), episodes: await read('episodes'), commitments: await read('commitments') }
}

/** A memory as it is written, without what is null or as usual. */
export function writtenMemory(memory: Memory, details: Details): WrittenMemory {
  const { id, kind } = memory
  const written: WrittenMemory = {
    type: 'memory',
    id,
    kind,
    content: memory.content,
    title: memory.title ?? undefined,
    category: memory.category ?? undefined,
    tags: memory.tags.length > 0 ? [...memory.tags] : undefined,
    tier: memory.tier,
    priority: memory.priority,
    source: memory.source,
    label: memory.label,
    session_id: memory.sessionId ?? undefined,
    turn_id: memory.turnId ?? undefined,
    thread_id: memory.threadId ?? undefined,
    position: memory.position ?? undefined,
    passages: memory.passages > 1 ? memory.passages : undefined,
    speaker: memory.speaker ?? undefined,
    happened_from: optionalTime(memory.happenedFrom),
    happened_until: optionalTime(memory.happenedUntil),
    created_at: timeText(memory.createdAt),
    updated_at: memory.updatedAt === memory.createdAt ? undefined : timeText(memory.updatedAt),
    used_at: memory.usedAt === memory.createdAt ? undefined : timeText(memory.usedAt),
    use_count: memory.useCount || undefined,
    cycle: memory.cycle || undefined,
    superseded_at: optionalTime(memory.supersededAt),
    superseded_by: memory.supersededBy ?? undefined,
    fact: kind === 'fact' ? writtenFact(details.facts.get(id)) : undefined,
    episode: kind === 'episode' ? writtenEpisode(details.episodes.get(id)) : undefined,
    commitment: kind === 'commitment' ? writtenCommitment(details.commitments.get(id)) : undefined,
  }
  return written
}

function writtenFact(row: FactRow | undefined): WrittenMemory['fact'] {
  return (
    row && {
      entity: row.entity,
      attribute: row.attribute,
      value: row.value,
      confidence: row.confidence,
      valid_from: timeText(row.valid_from),
      valid_to: optionalTime(row.valid_to),
    }
  )
}

function writtenEpisode(row: EpisodeRow | undefined): WrittenMemory['episode'] {
  return (
    row && {
      topics: listFrom(row.topics),
      decisions: listFrom(row.decisions),
      tone: row.tone ?? undefined,
      started_at: timeText(row.started_at),
      ended_at: timeText(row.ended_at),
    }
  )
}

function writtenCommitment(row: CommitmentRow | undefined): WrittenMemory['commitment'] {
  return (
    row && {
      who: row.who,
      to_whom: row.to_whom ?? undefined,
      what: row.what,
      deadline: optionalTime(row.deadline),
      state: row.state,
      closed_at: optionalTime(row.closed_at),
    }
  )
}

function optionalTime(at: number | null): string | undefined {
  return at === null ? undefined : timeText(at)
}

function listFrom(text: string): string[] {
  const list = parseJson(text, z.array(z.string()))
  return list.ok ? list.value : []
}
