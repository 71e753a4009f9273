import { systemClock } from '../base/clock.ts'
import { type ChatSession, openChatSession } from './chat-session.ts'
import type { CommandContext, CommandHandler } from './command.ts'
import { type ExitCode, exitCodes, interrupted } from './command-error.ts'
import { type Connection, connect } from './connect.ts'
import { jsonLines } from './json-lines.ts'
import { hasColours } from './output.ts'

export interface ChatInput {
  session: string
  once?: boolean
}

export const chat: CommandHandler<ChatInput> = async (context, input) => {
  const { stdin, stdout, output } = context
  const connection = await connect(context, { talks: true })
  const session = openChatSession(context, { session: input.session, connection })
  try {
    if (!stdin.isTTY || !stdout.isTTY || input.once || input.json) return await pipe(context, session, input)
    output.print(output.style('dim', greeting(connection, input.session)))
    return await talk(context, session)
  } finally {
    await session.close()
  }
}

/** A chat on the terminal, until the user leaves. */
export async function talk(context: CommandContext, session: ChatSession): Promise<ExitCode> {
  const { runPlainChat } = await import('../channels/terminal/plain-chat.ts')
  const { stdin: input, stdout: output, signal } = context
  const { partner, commands, ownCommands } = session
  const colours = hasColours(output, context.env)
  await runPlainChat({ input, output, partner, commands, ownCommands, colours, clock: systemClock(), signal })
  return exitCodes.fine
}

async function pipe(context: CommandContext, { partner }: ChatSession, input: ChatInput & { json?: boolean }) {
  const { runPipeChat } = await import('../channels/terminal/pipe-chat.ts')
  const isFine = await runPipeChat({
    input: context.stdin,
    write: (text) => void context.stdout.write(text),
    partner,
    once: input.once === true,
    signal: context.signal,
    ...(input.json && { onEvent: jsonLines(context) }),
  })
  if (context.signal.aborted) throw interrupted()
  return isFine ? exitCodes.fine : exitCodes.failed
}

function greeting({ daemon }: Connection, session: string): string {
  const where = daemon ? `daemon at ${daemon.url}` : 'inside this process; "familiar serve" keeps it running'
  return `Session ${session}, ${where}. /help lists the commands.`
}
