import type { CommandHandler } from '../command.ts'
import { withCapsOnce } from './with-caps.ts'

/** `familiar caps rollback NAME [VERSION]`: an older version serves again; none is deleted. */
export const rollBack: CommandHandler<{ name: string; version?: number }> = async (context, input) => {
  const { output } = context
  // Done again, "the one before" would be another one.
  const capability = await withCapsOnce(context, (caps) => caps.rollback(input.name, input.version))
  if (input.json) output.printJson(capability)
  else output.print(`${capability.name} is served by v${capability.version} again.`)
  return undefined
}
