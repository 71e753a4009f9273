import { readDaemonInfo } from '../daemon/daemon-info.ts'
import { createApiClient } from './api-client.ts'
import { openChatLine } from './chat/chat-line.ts'
import { chat, talk } from './chat-command.ts'
import type { CommandHandler } from './command.ts'
import { announce, type ListenInput, serveDaemon } from './serve-daemon.ts'

/** What `npm start` runs: serves and, where somebody sits at a terminal, opens a chat in the same process. */
export const start: CommandHandler<ListenInput & { session: string; plain?: boolean }> = async (context, input) => {
  const { output, stdin, stdout, homePath } = context
  if (!stdin.isTTY || !stdout.isTTY || input.json) return (await import('./serve-command.ts')).serve(context, input)
  const running = readDaemonInfo(homePath)
  if (running) {
    output.print(`Familiar is already running here (process ${running.pid}): this chat joins it.`)
    return chat(context, input)
  }
  const daemon = await serveDaemon(context, input)
  try {
    await announce(context, daemon, false)
    output.print(output.style('dim', '/help lists the commands; /exit, or Ctrl-C twice, stops Familiar.'))
    const connection = { client: createApiClient(daemon), daemon: undefined, close: async () => undefined }
    return await talk(context, openChatLine(context, { session: input.session, connection }), input)
  } finally {
    await daemon.close()
  }
}
