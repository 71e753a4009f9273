import { z } from 'zod'
import { parseJson } from '../base/json.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'
import type { EpisodeRow } from '../storage/tables.ts'
import { cleanLine } from './clean-line.ts'
import type { Memories } from './memories.ts'
import type { MemoryLabel, MemorySource } from './memory.ts'

export interface Episode {
  id: string
  userId: string
  summary: string
  topics: readonly string[]
  decisions: readonly string[]
  tone: string | null
  startedAt: number
  endedAt: number
}

export interface NewEpisode extends Omit<Episode, 'id'> {
  source: MemorySource
  label?: MemoryLabel | undefined
  sessionId?: string | undefined
  /** Derived from its cause: the same stretch of a conversation makes one episode. */
  memoryId?: string | undefined
}

/** What happened in a stretch of conversation. The memory of the same id holds summary, decisions and topics as text. */
export interface Episodes {
  addIn(writer: Writer, episode: NewEpisode): Promise<{ episode: Episode; isNew: boolean }>
  get(userId: string, id: string): Promise<Episode | undefined>
  /** Newest first; `from`/`until` select those that touch that time. */
  list(userId: string, page: { limit: number; from?: number; until?: number }): Promise<Episode[]>
}

const longestItem = 500
const mostItems = 32

export function createEpisodes(dependencies: { database: Database; memories: Memories }): Episodes {
  const { database, memories } = dependencies

  return {
    async addIn(writer, given) {
      const known = given.memoryId && (await selectEpisode(writer, given.userId, given.memoryId))
      if (known) return { episode: episodeFromRow(known), isNew: false }
      const lists = { topics: cleanList(given.topics), decisions: cleanList(given.decisions) }
      const { memory, isNew } = await memories.addIn(writer, {
        userId: given.userId,
        kind: 'episode',
        content: episodeContent(given.summary, lists),
        source: given.source,
        label: given.label,
        sessionId: given.sessionId,
        at: given.endedAt,
        id: given.memoryId,
      })
      const same = isNew ? undefined : await selectEpisode(writer, given.userId, memory.id)
      if (same) return { episode: episodeFromRow(same), isNew: false }
      const row: EpisodeRow = {
        id: memory.id,
        user_id: given.userId,
        topics: JSON.stringify(lists.topics),
        decisions: JSON.stringify(lists.decisions),
        tone: cleanLine(given.tone, longestItem),
        started_at: given.startedAt,
        ended_at: given.endedAt,
      }
      await writer.insertInto('episodes').values(row).execute()
      return { episode: episodeFromRow({ ...row, content: memory.content }), isNew: true }
    },

    async get(userId, id) {
      const row = await selectEpisode(database.read, userId, id)
      return row && episodeFromRow(row)
    },

    async list(userId, { limit, from, until }) {
      let query = selectEpisodes(database.read, userId)
      if (from !== undefined) query = query.where('ended_at', '>=', from)
      if (until !== undefined) query = query.where('started_at', '<=', until)
      const rows = await query.orderBy('ended_at', 'desc').orderBy('episodes.id', 'desc').limit(limit).execute()
      return rows.map(episodeFromRow)
    },
  }
}

function selectEpisodes(reader: Reader | Writer, userId: string) {
  return reader
    .selectFrom('episodes')
    .innerJoin('memories', 'memories.id', 'episodes.id')
    .selectAll('episodes')
    .select('memories.content')
    .where('episodes.user_id', '=', userId)
}

function selectEpisode(reader: Reader | Writer, userId: string, id: string) {
  return selectEpisodes(reader, userId).where('episodes.id', '=', id).executeTakeFirst()
}

interface EpisodeLists {
  topics: readonly string[]
  decisions: readonly string[]
}

function episodeContent(summary: string, lists: EpisodeLists): string {
  return `${summary.trim()}${listsAsText(lists)}`
}

function listsAsText({ topics, decisions }: EpisodeLists): string {
  const decided = decisions.length > 0 ? `\nDecided: ${decisions.join('; ')}` : ''
  return topics.length > 0 ? `${decided}\nTopics: ${topics.join(', ')}` : decided
}

function episodeFromRow(row: EpisodeRow & { content: string }): Episode {
  const lists = { topics: listFromText(row.topics), decisions: listFromText(row.decisions) }
  const ending = listsAsText(lists)
  return {
    id: row.id,
    userId: row.user_id,
    summary: row.content.endsWith(ending) ? row.content.slice(0, row.content.length - ending.length) : row.content,
    ...lists,
    tone: row.tone,
    startedAt: Number(row.started_at),
    endedAt: Number(row.ended_at),
  }
}

function cleanList(items: readonly string[]): string[] {
  return [...new Set(items.flatMap((item) => cleanLine(item, longestItem) ?? []))].slice(0, mostItems)
}

function listFromText(text: string): string[] {
  const list = parseJson(text, z.array(z.string()))
  return list.ok ? list.value : []
}
