import type { CommandHandler } from '../command.ts'
import { withCaps } from './with-caps.ts'

/** `familiar caps review`: what may be archived, and why. Nothing is done by itself. */
export const reviewCapabilities: CommandHandler<object> = async (context, input) => {
  const { output } = context
  const proposals = await withCaps(context, (caps) => caps.proposals())
  if (input.json) output.printJson({ proposals })
  else if (proposals.length === 0) output.print('Every capability is in use, or too new to tell.')
  else {
    output.printTable(
      proposals.map(({ name, reason }) => [name, reason]),
      { header: ['Capability', 'Why it may be archived'] },
    )
    output.note('To archive one: familiar caps disable NAME. Its versions stay, and enable brings it back.')
  }
  return undefined
}
