import { once } from 'node:events'
import type { CommandHandler } from './command.ts'
import { exitCodes } from './command-error.ts'
import { announce, type ListenInput, reloadOnHangup, serveDaemon } from './serve-daemon.ts'

/** Until SIGTERM or Ctrl-C, which is how it is meant to end: both leave with 0. */
export const serve: CommandHandler<ListenInput> = async (context, input) => {
  const { output, signal } = context
  const daemon = await serveDaemon(context, input, (line) => output.note(output.style('dim', line)))
  try {
    reloadOnHangup(context, daemon)
    await announce(context, daemon, input.json === true)
    if (!input.json) output.print(output.style('dim', 'Ctrl-C stops it.'))
    if (!signal.aborted) await once(signal, 'abort')
    if (!input.json) output.print('Stopping.')
    return exitCodes.fine
  } finally {
    await daemon.close()
  }
}
