import { readDaemonInfo } from '../daemon/daemon-lock.ts'
import { openChatLine } from './chat/chat-line.ts'
import { type CommandHandler, exitCodes } from './command.ts'
import { startChat, talk } from './commands/chat.ts'
import { createApiClient } from './connect.ts'
import { announce, type ListenInput, reloadBesideChat, serveWhenReachable } from './serve-daemon.ts'

/** The command of `npm start`: serves and, in a terminal, opens a chat in the same process. */
export const start: CommandHandler<ListenInput & { session: string; plain?: boolean }> = async (context, input) => {
  const { output, stdin, stdout, homePath } = context
  if (!stdin.isTTY || !stdout.isTTY || input.json) return (await import('./serve.ts')).serve(context, input)
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
