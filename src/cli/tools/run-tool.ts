import { formatDuration } from '../../base/format.ts'
import { cardText } from '../../cards/card-text.ts'
import type { ToolRunReply, ToolRunRequest } from '../../protocol/tool-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { exitCodes } from '../command-error.ts'
import { readJsonOption } from './read-json-option.ts'
import { withToolsOnce } from './with-tools.ts'

interface RunInput {
  name: string
  params?: string
  telemetry?: string
}

/** `familiar tools run NAME`: a tool as Familiar would run it, in the same sandbox, with the same settings. */
export const runTool: CommandHandler<RunInput> = async (context, input) => {
  const params = await readJsonOption(context, '--params', input.params)
  const telemetry = (await readJsonOption(context, '--telemetry', input.telemetry)) as ToolRunRequest['telemetry']
  const run = await withToolsOnce(context, (tools) => tools.run(input.name, { params, telemetry }, context.signal))
  if (input.json) {
    context.output.printJson(contractOutput(run))
    return run.error === null ? undefined : exitCodes.failed
  }
  return printRun(context, input.name, run)
}

/** What the contract names, cleaned, and beside it how long it took and where it ran. */
function contractOutput({ text, html, title, error, budget_remaining, duration_ms, driver }: ToolRunReply): object {
  return { text, html, title, error, budget_remaining, duration_ms, driver }
}

function printRun({ output, stdout }: CommandContext, name: string, run: ToolRunReply) {
  const { card, text, error, notes, log, driver } = run
  if (card) output.print(cardText({ ...card, width: Math.min(stdout.columns ?? 80, 100) }))
  else if (text !== null) output.print(text)
  for (const note of notes) output.note(output.style('dim', note))
  if (log) output.note(output.style('dim', log.replaceAll(/^/gm, `${name}: `)))
  if (driver) output.note(output.style('dim', `${formatDuration(run.duration_ms)}, ${driver} sandbox`))
  return error === null ? undefined : output.fail(error, undefined, exitCodes.failed)
}
