import type { CommandHandler } from '../command.ts'
import { withTelegram } from './with-telegram.ts'

/** `familiar telegram unpair ID`. */
export const unpair: CommandHandler<{ id: string }> = async (context, input) => {
  const { id } = await withTelegram(context, (telegram) => telegram.unpair(input.id))
  if (input.json) context.output.printJson({ id })
  else context.output.print(`${id} is not heard any more.`)
  return undefined
}
