import type { Clock } from '../base/clock.ts'
import type { Database, Writer } from '../storage/database.ts'
import { toIndexKey } from '../storage/index-key.ts'
import type { ToolWeightRow } from '../storage/tables.ts'
import { topicsOf } from './topics-of.ts'

export type ToolCallOutcome = 'succeeded' | 'failed' | 'timed_out' | 'service_failed'

interface ToolCallRecord {
  userId: string
  tool: string
  /** What the user had asked for. Its strongest words are the topics. */
  userText: string
  outcome: ToolCallOutcome
}

/**
 * What was learnt of tools by using them: each call weighs for or against its tool, in the topics of what the user had
 * asked and over all. Old outcomes fade. A user's weights are that user's own.
 */
export interface ProceduralMemory {
  record(call: ToolCallRecord): Promise<void>
  /** In the unit that writes the call's result. */
  recordIn(writer: Writer, call: ToolCallRecord): Promise<void>
  /** Per tool -1 to 1, as of now: half what it did over all, half what it did in these topics. Unknown tools are left out. */
  weights(userId: string, topics: readonly string[]): Promise<ReadonlyMap<string, number>>
}

const rewards: Record<ToolCallOutcome, number> = {
  succeeded: 0.3,
  failed: -0.2,
  timed_out: -0.2,
  service_failed: -0.05,
}
const halfLifeMs = 30 * 24 * 60 * 60_000
/** Topics come from what people write: without a limit there would be a row for every word. */
const mostRows = 2_000
const everything = ''

export function createProceduralMemory(dependencies: { database: Database; clock: Clock }): ProceduralMemory {
  const { database, clock } = dependencies

  const procedural: ProceduralMemory = {
    record: (call) => database.write((writer) => procedural.recordIn(writer, call)),

    async recordIn(writer, { userId, tool, userText, outcome }) {
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
        const weight = bounded((row ? faded(row, now) : 0) + rewards[outcome])
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

    async weights(userId, topics) {
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
  const overall = rows.filter((row) => row.topic === everything).map((row) => faded(row, now))
  const inTopics = rows.filter((row) => row.topic !== everything).map((row) => faded(row, now))
  return 0.5 * mean(overall) + 0.5 * mean(inTopics)
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length
}

function faded({ weight, updated_at }: ToolWeightRow, now: number): number {
  return weight * 2 ** (-Math.max(0, now - Number(updated_at)) / halfLifeMs)
}

function bounded(weight: number): number {
  return Math.min(1, Math.max(-1, weight))
}

async function dropOldest(writer: Writer, userId: string): Promise<void> {
  const surplus = await writer
    .selectFrom('tool_weights')
    .select(['topic', 'tool'])
    .where('user_id', '=', userId)
    .orderBy('updated_at', 'desc')
    .offset(mostRows)
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
