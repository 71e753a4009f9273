import { once } from 'node:events'
import type { Daemon } from '../daemon/daemon.ts'
import { readDaemonInfo } from '../daemon/daemon-lock.ts'
import { type CommandHandler, exitCodes } from './command.ts'
import { createApiClient } from './connect.ts'
import { announce, type ListenInput, reloadBesideChat, reloadOnHangup, serveWhenReachable } from './serve-daemon.ts'

/** Runs until SIGTERM or Ctrl-C, which are its normal end: both exit with 0. */
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

/** The command of `npm start`: serves and, in a terminal, opens a chat in the same process. */
export const start: CommandHandler<ListenInput & { session: string; plain?: boolean }> = async (context, input) => {
  const { output, stdin, stdout, homePath } = context
  if (!stdin.isTTY || !stdout.isTTY || input.json) return serve(context, input)
  const [{ openChatLine }, { startChat, talk }] = await Promise.all([
    import('./chat/chat-line.ts'),
    import('./commands/chat.ts'),
  ])
  const running = readDaemonInfo(homePath)
  if (running) {
    output.print(`Familiar is already running (process ${running.pid}). Joining it.`)
    return startChat(context, input)
  }
  const daemon = await serveWhenReachable(context, input)
  if (!daemon) return exitCodes.fine
  try {
    reloadBesideChat(context, daemon)
    await announce(context, daemon, input)
    output.print(output.style('dim', '/help lists the commands; /exit, or Ctrl-C twice, stops Familiar.'))
    const connection = { client: createApiClient(daemon), daemon: undefined, close: async () => undefined }
    return await talk(context, openChatLine(context, { session: input.session, connection }), input)
  } finally {
    await daemon.close()
  }
}
