import { plural } from '../../base/format.ts'
import type { CommandHandler } from '../command.ts'
import { exitCodes } from '../command-error.ts'
import { findSession } from '../find-session.ts'
import { watchProgress } from './watch-progress.ts'

export const consolidate: CommandHandler<{ session?: string }> = async (context, input) => {
  const { output } = context
  const reply = await watchProgress(context, {
    describe: ({ done, total, session }) => `${done + 1} of ${total}: ${session ?? 'files'}`,
    stopped: 'Stopped. What is written stays; the same command goes on from there.',
    async work(memory, watched, client) {
      const session = input.session === undefined ? undefined : (await findSession(client, input.session)).id
      return memory.consolidate(session, watched)
    },
  })
  if (input.json) output.printJson(reply)
  else {
    const { added } = reply
    const what = [
      plural(added.episodes, 'episode'),
      plural(added.facts, 'fact'),
      plural(added.commitments, 'commitment'),
      plural(added.aliases, 'name'),
    ]
    output.print(
      `${plural(reply.sessions, 'session')} and ${plural(reply.files, 'file')} read: ${what.join(', ')} added.`,
    )
    for (const { session_id, message } of reply.problems) {
      output.note(`Not consolidated: ${session_id ? `session ${session_id}` : 'a file'}: ${message}`)
    }
    if (reply.problems.some(({ reason }) => reason === 'no_model'))
      output.note('A model is chosen with: familiar setup')
  }
  return reply.problems.length === 0 ? exitCodes.fine : exitCodes.failed
}
