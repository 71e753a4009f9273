import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import type { Daemon } from '../daemon/started-daemon.ts'
import type { CommandContext, CommandHandler } from './command.ts'
import { CommandError, exitCodes } from './command-error.ts'
import { announce, type ListenInput, reloadOnHangup, serveDaemon } from './serve-daemon.ts'

const longestPauseMs = 15_000

/** Until SIGTERM or Ctrl-C, which is how it is meant to end: both leave with 0. */
export const serve: CommandHandler<ListenInput> = async (context, input) => {
  const { output, signal } = context
  const writeLine = (line: string) => output.note(output.style('dim', line))
  let daemon: Daemon | undefined = await serveDaemon(context, input, writeLine)
  try {
    await announce(context, daemon, input.json === true)
    if (!input.json) output.print(output.style('dim', 'Ctrl-C stops it.'))
    while (daemon) {
      reloadOnHangup(context, daemon)
      const lost = await stoppedOrLost(daemon, signal)
      if (lost === undefined) break
      output.note(`The connection to the database broke (${lost}). Familiar starts anew.`)
      await daemon.close(0)
      daemon = await startAgain(context, { ...input, port: Number(new URL(daemon.url).port) }, writeLine)
      if (daemon) output.note(`Familiar serves again on ${daemon.url}`)
    }
    if (!input.json) output.print('Stopping.')
    return exitCodes.fine
  } finally {
    await daemon?.close()
  }
}

/** Undefined where it was asked to stop; otherwise why the others take it for dead. */
async function stoppedOrLost(daemon: Daemon, signal: AbortSignal): Promise<string | undefined> {
  if (signal.aborted) return undefined
  return Promise.race([once(signal, 'abort').then(() => undefined), daemon.lost])
}

/** For as long as the database cannot be reached; undefined where it was asked to stop meanwhile. */
async function startAgain(
  context: CommandContext,
  input: ListenInput,
  writeLine: (line: string) => void,
): Promise<Daemon | undefined> {
  const { output, signal } = context
  for (let pauseMs = 500; !signal.aborted; pauseMs = Math.min(pauseMs * 2, longestPauseMs)) {
    try {
      return await serveDaemon(context, input, writeLine)
    } catch (cause) {
      if (!(cause instanceof CommandError && cause.code === 'database')) throw cause
      output.note(`${cause.message} Trying again in ${Math.ceil(pauseMs / 1_000)} s.`)
      await wait(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }
  return undefined
}
