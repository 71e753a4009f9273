import type { Clock } from '../base/clock.ts'
import { type Database, type Reader, toIndexKey, type Writer } from '../storage/database.ts'
import type { EpisodeRow, ToolWeightRow } from '../storage/tables.ts'
import type { Memories } from './memories.ts'
import { cleanLine, type Origin, originOf, readList } from './memory.ts'
import { topicsOf } from './words.ts'

type Episode = ReturnType<typeof episodeFromRow>

export interface NewEpisode extends Omit<Episode, 'id'>, Omit<Origin, 'at'> {
  /** Derived from its cause: the same segment of a conversation makes one episode. */
  memoryId?: string | undefined
}

/** Summaries of segments of conversations. The memory of the same id contains summary, decisions and topics as text. */
export type Episodes = ReturnType<typeof createEpisodes>

const maxItemLength = 500
const maxItems = 32

export function createEpisodes({ database, memories }: { database: Database; memories: Memories }) {
  return {
    async addIn(writer: Writer, given: NewEpisode): Promise<{ episode: Episode; isNew: boolean }> {
      const known = given.memoryId && (await selectEpisode(writer, given.userId, given.memoryId))
      if (known) return { episode: episodeFromRow(known), isNew: false }
      const lists = { topics: cleanList(given.topics), decisions: cleanList(given.decisions) }
      const { memory, isNew } = await memories.addIn(writer, {
        userId: given.userId,
        kind: 'episode',
        content: `${given.summary.trim()}${listsAsText(lists)}`,
        ...originOf(given),
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
        tone: cleanLine(given.tone, maxItemLength),
        started_at: given.startedAt,
        ended_at: given.endedAt,
      }
      await writer.insertInto('episodes').values(row).execute()
      return { episode: episodeFromRow({ ...row, content: memory.content }), isNew: true }
    },

    async get(userId: string, id: string): Promise<Episode | undefined> {
      const row = await selectEpisode(database.read, userId, id)
      return row && episodeFromRow(row)
    },

    /** Newest first; `from`/`until` select those that overlap that time. */
    async list(userId: string, page: { limit: number; from?: number; until?: number }): Promise<Episode[]> {
      const { limit, from, until } = page
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

function listsAsText({ topics, decisions }: Pick<Episode, 'topics' | 'decisions'>): string {
  const decided = decisions.length > 0 ? `\nDecided: ${decisions.join('; ')}` : ''
  return topics.length > 0 ? `${decided}\nTopics: ${topics.join(', ')}` : decided
}

function episodeFromRow(row: EpisodeRow & { content: string }) {
  const lists = { topics: readList(row.topics), decisions: readList(row.decisions) }
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
  return [...new Set(items.flatMap((item) => cleanLine(item, maxItemLength) ?? []))].slice(0, maxItems)
}

export type ToolCallOutcome = 'succeeded' | 'failed' | 'timed_out' | 'service_failed'

interface ToolCallRecord {
  userId: string
  tool: string
  /** The user's request. Its strongest words are the topics. */
  userText: string
  outcome: ToolCallOutcome
}

/**
 * Experience with tools: each call counts for or against its tool, in the topics of the user's request and overall. Old
 * outcomes decay. Weights are per user.
 */
export type ProceduralMemory = ReturnType<typeof createProceduralMemory>

const rewards: Record<ToolCallOutcome, number> = {
  succeeded: 0.3,
  failed: -0.2,
  timed_out: -0.2,
  service_failed: -0.05,
}
const halfLifeMs = 30 * 24 * 60 * 60_000
/** Topics are user text: without a limit there would be a row for every word. */
const maxRows = 2_000
const everything = ''

export function createProceduralMemory({ database, clock }: { database: Database; clock: Clock }) {
  const procedural = {
    record: (call: ToolCallRecord): Promise<void> => database.write((writer) => procedural.recordIn(writer, call)),

    /** In the unit that writes the call's result. */
    async recordIn(writer: Writer, { userId, tool, userText, outcome }: ToolCallRecord): Promise<void> {
      const now = clock.now()
      const topics = [everything, ...topicsOf(userText)].map(toIndexKey)
      const rows = await writer
        .selectFrom('tool_weights')
        .selectAll()
        .where('user_id', '=', userId)
        .where('topic', 'in', topics)
        .where('tool', '=', tool)
        .execute()
      const known = new Map(rows.map((row) => [row.topic, row]))
      const changed = topics.map((topic): ToolWeightRow => {
        const row = known.get(topic)
        const weight = Math.min(1, Math.max(-1, (row ? faded(row, now) : 0) + rewards[outcome]))
        return { user_id: userId, topic, tool, weight, calls: (row?.calls ?? 0) + 1, updated_at: now }
      })
      await writer
        .insertInto('tool_weights')
        .values(changed)
        .onConflict((conflict) =>
          conflict.columns(['user_id', 'topic', 'tool']).doUpdateSet(({ ref }) => ({
            weight: ref('excluded.weight'),
            calls: ref('excluded.calls'),
            updated_at: ref('excluded.updated_at'),
          })),
        )
        .execute()
      if (known.size < topics.length) await dropOldest(writer, userId)
    },

    /** Per tool -1 to 1, as of now: half overall, half in these topics. Unknown tools are omitted. */
    async weights(userId: string, topics: readonly string[]): Promise<ReadonlyMap<string, number>> {
      const rows = await database.read
        .selectFrom('tool_weights')
        .selectAll()
        .where('user_id', '=', userId)
        .where('topic', 'in', [everything, ...topics].map(toIndexKey))
        .execute()
      const now = clock.now()
      const byTool = Map.groupBy(rows, (row) => row.tool)
      return new Map(Array.from(byTool, ([tool, own]) => [tool, combine(own, now)]))
    },
  }
  return procedural
}

function combine(rows: readonly ToolWeightRow[], now: number): number {
  const [overall, inTopics] = [true, false].map((isOverall) => {
    const own = rows.filter((row) => (row.topic === everything) === isOverall)
    return own.reduce((sum, row) => sum + faded(row, now), 0) / Math.max(1, own.length)
  })
  return 0.5 * (overall ?? 0) + 0.5 * (inTopics ?? 0)
}

function faded({ weight, updated_at }: ToolWeightRow, now: number): number {
  return weight * 2 ** (-Math.max(0, now - Number(updated_at)) / halfLifeMs)
}

async function dropOldest(writer: Writer, userId: string): Promise<void> {
  const surplus = await writer
    .selectFrom('tool_weights')
    .select(['topic', 'tool'])
    .where('user_id', '=', userId)
    .orderBy('updated_at', 'desc')
    .offset(maxRows)
    .limit(10)
    .execute()
  for (const { topic, tool } of surplus) {
    await writer
      .deleteFrom('tool_weights')
      .where('user_id', '=', userId)
      .where('topic', '=', topic)
      .where('tool', '=', tool)
      .execute()
  }
}
