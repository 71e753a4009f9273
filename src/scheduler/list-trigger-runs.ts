import type { TriggerRunReply } from '../protocol/trigger-api.ts'
import type { Reader } from '../storage/database.ts'

/** Later than this after its time, a run is late. */
const punctualMs = 60_000

/** The runs that nobody asked for, newest first, and before them those that are still to come. */
export async function listTriggerRuns(
  read: Reader,
  query: { tool?: string | undefined; limit: number },
): Promise<TriggerRunReply[]> {
  let selected = read.selectFrom('trigger_runs').selectAll()
  if (query.tool !== undefined) selected = selected.where('tool', '=', query.tool)
  const rows = await selected.orderBy('due_at', 'desc').orderBy('id', 'desc').limit(query.limit).execute()
  return rows.map((row) => ({
    id: row.id,
    tool: row.tool,
    kind: row.kind,
    state: row.state,
    due_at: isoTime(row.due_at),
    started_at: row.started_at === null ? null : isoTime(row.started_at),
    finished_at: row.finished_at === null ? null : isoTime(row.finished_at),
    is_late: row.started_at !== null && Number(row.started_at) - Number(row.due_at) > punctualMs,
    error: row.error,
  }))
}

function isoTime(time: number): string {
  return new Date(Number(time)).toISOString()
}
