import { formatTime } from '../../base/format.ts'
import { type TriggerRunReply, triggerRunsReplySchema } from '../../protocol/trigger-api.ts'
import type { CommandHandler } from '../command.ts'
import { withFamiliar } from '../connect.ts'

/** `familiar tools runs [NAME]`: when tools ran without being asked, late and missed runs among them. */
export const listRuns: CommandHandler<{ name?: string; limit?: number }> = async (context, input) => {
  const { output } = context
  const path = input.name === undefined ? '/runs' : `/tools/${encodeURIComponent(input.name)}/runs`
  const { runs } = await withFamiliar(context, ({ transport }) =>
    transport.ask(`${path}?limit=${input.limit ?? 50}`, triggerRunsReplySchema),
  )
  if (input.json) output.printJson({ runs })
  else if (runs.length === 0) output.print('No tool has run, or will run, without being asked.')
  else {
    output.printTable(
      runs.map((run) => [run.tool, run.kind, formatTime(run.due_at), stateOf(run), run.error ?? '']),
      { header: ['Tool', 'By', 'Due', 'State', ''] },
    )
  }
  return undefined
}

function stateOf({ state, is_late, due_at, started_at }: TriggerRunReply): string {
  if (!is_late || started_at === null) return state
  const minutes = Math.round((Date.parse(started_at) - Date.parse(due_at)) / 60_000)
  return `${state}, ${minutes} min late`
}
