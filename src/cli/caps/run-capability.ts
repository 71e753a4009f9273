import { formatDuration } from '../../base/format.ts'
import { cardText } from '../../cards/card-text.ts'
import type { CapabilityRunReply } from '../../protocol/capability-api.ts'
import type { CommandContext, CommandHandler } from '../command.ts'
import { exitCodes } from '../command-error.ts'
import { readJsonOption } from '../tools/read-json-option.ts'
import { withCapsOnce } from './with-caps.ts'

interface RunInput {
  name: string
  args?: string
  version?: number
}

/** `familiar caps run NAME`: a capability as Familiar would run it, in the same sandbox, with the same secrets. */
export const runCapability: CommandHandler<RunInput> = async (context, input) => {
  const args = await readJsonOption(context, '--args', input.args)
  const request = { args, ...(input.version !== undefined && { version: input.version }) }
  const run = await withCapsOnce(context, (caps) => caps.run(input.name, request, context.signal))
  if (!input.json) return printRun(context, input.name, run)
  context.output.printJson(run)
  return run.ok ? undefined : exitCodes.failed
}

function printRun({ output, stdout }: CommandContext, name: string, run: CapabilityRunReply) {
  const { ok, card, text, error, log, driver } = run
  if (card) output.print(cardText({ ...card, width: Math.min(stdout.columns ?? 80, 100) }))
  else if (ok) output.print(text)
  if (log) output.note(output.style('dim', log.trimEnd().replaceAll(/^/gm, `${name}: `)))
  for (const host of run.refused_hosts) output.note(`It wanted to reach ${host}, which it does not declare.`)
  if (driver) output.note(output.style('dim', `${formatDuration(run.duration_ms)}, ${driver} sandbox`))
  if (ok) return undefined
  const hint = run.outcome === 'failed' ? `To have it mended: familiar caps repair ${name}` : undefined
  return output.fail(error ?? 'It failed and did not say why.', hint, exitCodes.failed)
}
