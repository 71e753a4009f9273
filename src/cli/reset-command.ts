import { plural } from '../base/format.ts'
import type { CommandHandler } from './command.ts'
import { exitCodes } from './command-error.ts'
import { confirm } from './confirm.ts'
import { withFamiliar } from './connect.ts'
import { findSession } from './find-session.ts'

/** Archives: what was said stays in the archive and in memory, the next message begins a new session. */
export const reset: CommandHandler<{ target: string; yes?: boolean }> = async (context, input) => {
  const { output } = context
  const { target } = input
  const what = target === 'all' ? 'every session' : `the session ${target}`
  if (!input.yes && !(await confirm(context, `Archive ${what} and begin anew?`))) {
    output.note('Nothing was changed.')
    return exitCodes.failed
  }
  const reply = await withFamiliar(context, async (client) =>
    client.reset(target === 'all' ? target : (await findSession(client, target)).id),
  )
  if (input.json) {
    output.printJson(reply)
    return undefined
  }
  output.print(`${plural(reply.archived.length, 'session')} archived. Nothing was deleted:`)
  for (const session of reply.archived) output.print(`  familiar history ${session.id}   (${session.contact})`)
  return undefined
}
