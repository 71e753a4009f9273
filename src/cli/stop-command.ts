import type { CommandHandler } from './command.ts'
import { withFamiliar } from './connect.ts'
import { findSession } from './find-session.ts'

export const stop: CommandHandler<{ session: string }> = async (context, input) => {
  const { output } = context
  const reply = await withFamiliar(context, async (client) =>
    client.stop((await findSession(client, input.session)).id),
  )
  if (input.json) output.printJson(reply)
  else output.print(reply.stopped ? 'Stopped.' : 'Nothing was running.')
  return undefined
}
