import type { CommandHandler } from '../command.ts'
import { formatDuration, formatTime, oneLine } from '../format.ts'
import { withCaps } from './with-caps.ts'

/** `familiar caps logs NAME`: what a capability did, newest first, whoever called it. */
export const showCapabilityCalls: CommandHandler<{ name: string; limit: number }> = async (context, input) => {
  const { output } = context
  const calls = await withCaps(context, (caps) => caps.calls(input.name, Math.min(500, input.limit)))
  if (input.json) output.printJson({ calls })
  else if (calls.length === 0) output.print(`${input.name} has not been called yet.`)
  else {
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
  return undefined
}
