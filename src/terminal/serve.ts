import { once } from 'node:events'
import type { Daemon } from '../daemon/daemon.ts'
import { type CommandHandler, exitCodes } from './command.ts'
import { announce, type ListenInput, reloadOnHangup, serveWhenReachable } from './serve-daemon.ts'

/** Until SIGTERM or Ctrl-C, which is how it is meant to end: both leave with 0. */
export const serve: CommandHandler<ListenInput> = async (context, input) => {
  const { output, signal } = context
  const writeLine = (line: string) => output.note(output.style('dim', line))
  let daemon = await serveWhenReachable(context, input, writeLine)
  if (!daemon) return exitCodes.fine
  try {
    await announce(context, daemon, input)
    if (!input.json) output.print(output.style('dim', 'Ctrl-C stops it.'))
    while (daemon) {
      reloadOnHangup(context, daemon)
      const lost = await stoppedOrLost(daemon, signal)
      if (lost === undefined) break
      output.note(`The connection to the database was lost (${lost}). Restarting.`)
      await daemon.close(0)
      daemon = await serveWhenReachable(context, { ...input, port: Number(new URL(daemon.url).port) }, writeLine)
      if (daemon) output.note(`Familiar serves again on ${daemon.url}`)
    }
    if (!input.json) output.print('Stopping.')
    return exitCodes.fine
  } finally {
    await daemon?.close()
  }
}

/** Undefined if it was asked to stop; otherwise why the other daemons consider it dead. */
async function stoppedOrLost(daemon: Daemon, signal: AbortSignal): Promise<string | undefined> {
  if (signal.aborted) return undefined
  return Promise.race([once(signal, 'abort').then(() => undefined), daemon.lost])
}
