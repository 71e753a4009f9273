import { formatDuration, formatTime, oneLine } from '../base/format.ts'
import type { ToolCallReply } from '../protocol/tool-api.ts'
import type { Output } from './output.ts'

/** Past calls of a tool or capability, newest first, whoever made them. */
export function printCalls(
  output: Output,
  name: string,
  { calls, json }: { calls: ToolCallReply[]; json: boolean | undefined },
): void {
  if (json) {
    output.printJson({ calls })
    return
  }
  if (calls.length === 0) {
    output.print(`${name} has not been called yet.`)
    return
  }
  output.printTable(
    calls.map(({ at, caller, outcome, duration_ms, driver, error, topic }) => [
      formatTime(at),
      caller,
      outcome === 'succeeded' ? outcome : output.style('red', outcome),
      formatDuration(duration_ms),
      driver ?? '',
      oneLine(error ?? topic, 200),
    ]),
    { header: ['When', 'By', 'Outcome', 'Took', 'Sandbox', ''] },
  )
}
