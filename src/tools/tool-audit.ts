import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { toDisplayText } from '../base/text.ts'
import { topicsOf } from '../memory/topics-of.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { ToolCallRow } from '../storage/tables.ts'

/** One call of a tool, whoever made it. */
export interface AuditedCall {
  userId: string
  tool: string
  caller: ToolCallRow['caller']
  sessionId?: string | null
  turnId?: string | null
  callId?: string | null
  /** What had been asked for. Its strongest words are the topic. */
  userText: string
  outcome: ToolCallRow['outcome']
  durationMs: number
  /** The sandbox that it ran in. */
  driver?: string | null
  budgetRemaining?: number | null
  /** With a failure: its reason. Secrets are taken out, and what is long is cut. */
  error?: string | null
}

/** Every call of every tool. Only the newest calls of each user are kept. */
export interface ToolAudit {
  record(call: AuditedCall): Promise<void>
  /** In the unit that writes the call's result. */
  recordIn(writer: Writer, call: AuditedCall): Promise<void>
  /** Newest first. */
  list(userId: string, query: { tool?: string | undefined; limit: number }): Promise<ToolCallRow[]>
}

const mostCalls = 10_000
/** How many more there may be before the oldest are dropped: looking for them at every call would cost more than it. */
const slack = 200
const longestError = 500
const longestTopic = 120

export function createToolAudit(dependencies: {
  database: Database
  clock: Clock
  ids: Ids
  redact(text: string): string
  mostCallsPerUser?: number
}): ToolAudit {
  const { database, clock, ids, redact, mostCallsPerUser = mostCalls } = dependencies
  /** Only says when to look: a unit that has to run again may count a call twice. */
  const sinceLook = new Map<string, number>()

  /** Returns how many there were too many. */
  async function dropOldest(writer: Writer, userId: string): Promise<number> {
    const oldestKept = await writer
      .selectFrom('tool_calls')
      .select(['at', 'id'])
      .where('user_id', '=', userId)
      .orderBy('at', 'desc')
      .orderBy('id', 'desc')
      .offset(mostCallsPerUser - 1)
      .limit(1)
      .executeTakeFirst()
    if (!oldestKept) return 0
    const { numDeletedRows } = await writer
      .deleteFrom('tool_calls')
      .where('user_id', '=', userId)
      .where((where) =>
        where.or([
          where('at', '<', oldestKept.at),
          where.and([where('at', '=', oldestKept.at), where('id', '<', oldestKept.id)]),
        ]),
      )
      .executeTakeFirst()
    return Number(numDeletedRows)
  }

  const audit: ToolAudit = {
    record: (call) => database.write((writer) => audit.recordIn(writer, call)),
    async recordIn(writer, call) {
      const row: ToolCallRow = {
        id: ids.next(),
        user_id: call.userId,
        tool: call.tool.slice(0, 200).toWellFormed(),
        caller: call.caller,
        session_id: call.sessionId ?? null,
        turn_id: call.turnId ?? null,
        call_id: call.callId ?? null,
        topic: topicsOf(redact(call.userText)).join(' ').slice(0, longestTopic).toWellFormed(),
        outcome: call.outcome,
        at: clock.now(),
        duration_ms: Math.max(0, Math.round(call.durationMs)),
        budget_remaining: call.budgetRemaining ?? null,
        driver: call.driver ?? null,
        // Before and after: a secret may be spelled with what the display drops in between.
        error: call.error == null ? null : shorten(redact(toDisplayText(redact(call.error)))),
      }
      await writer.insertInto('tool_calls').values(row).execute()
      const calls = (sinceLook.get(call.userId) ?? slack) + 1
      // What was dropped may come back with a unit that fails: so it is looked again until there is hardly any.
      const isOver = calls > slack && (await dropOldest(writer, call.userId)) <= 1
      sinceLook.set(call.userId, isOver ? 0 : calls)
    },
    async list(userId, { tool, limit }) {
      let selected = database.read.selectFrom('tool_calls').selectAll().where('user_id', '=', userId)
      if (tool !== undefined) selected = selected.where('tool', '=', tool)
      const rows = await selected.orderBy('at', 'desc').orderBy('id', 'desc').limit(limit).execute()
      return rows.map((row) => ({ ...row, at: Number(row.at) }))
    },
  }
  return audit
}

function shorten(text: string): string {
  return text.length > longestError ? `${text.slice(0, longestError).toWellFormed()}…` : text
}
