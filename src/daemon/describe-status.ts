import type { Clock } from '../base/clock.ts'
import { reportCost } from '../cost/report.ts'
import type { Models } from '../models/models.ts'
import type { Database } from '../storage/database.ts'

/** What the agent can tell about itself, in a few lines. */
export async function describeStatus(
  facts: { database: Database; models: Models; clock: Clock; startedAt: number },
  call: { userId: string; sessionId: string },
): Promise<string> {
  const { database, models, clock, startedAt } = facts
  const cost = await reportCost(database, { userId: call.userId, period: 'today', now: clock.now() })
  const session = await database.read
    .selectFrom('sessions')
    .select(['contact', 'last_seq', 'last_input_tokens'])
    .where('id', '=', call.sessionId)
    .where('user_id', '=', call.userId)
    .executeTakeFirst()
  const unpriced = cost.unpricedCalls > 0 ? `, and ${cost.unpricedCalls} calls of models without a price` : ''
  return [
    `Model: ${models.route('primary')[0]?.info.id ?? 'none'}`,
    `Up for: ${formatDuration(clock.now() - startedAt)}`,
    `Cost today: $${cost.totalUsd.toFixed(4)} in ${cost.calls} calls${unpriced}`,
    `Session: ${session?.contact ?? call.sessionId}, ${session?.last_seq ?? 0} events, ${session?.last_input_tokens ?? 0} tokens in the last request`,
  ].join('\n')
}

function formatDuration(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000)
  if (minutes < 1) return `${Math.floor(milliseconds / 1_000)} seconds`
  if (minutes < 120) return `${minutes} minutes`
  return `${Math.floor(minutes / 60)} hours`
}
