import { systemClock } from '../../base/clock.ts'
import { type ChatLine, openChatLine, openChatSession, whereOf } from '../chat/chat-line.ts'
import {
  type CommandContext,
  type CommandHandler,
  type ExitCode,
  exitCodes,
  interrupted,
  jsonLines,
} from '../command.ts'
import { connect } from '../connect.ts'
import { hasColours } from '../output.ts'

export interface ChatInput {
  session: string
  once?: boolean
  /** Line by line, without drawing. */
  plain?: boolean
}

export const startChat: CommandHandler<ChatInput> = async (context, input) => {
  const { stdin, stdout } = context
  const connection = await connect(context, { talks: true })
  const line = openChatLine(context, { session: input.session, connection })
  try {
    if (!stdin.isTTY || !stdout.isTTY || input.once || input.json) return await pipe(context, line, input)
    return await talk(context, line, input)
  } finally {
    await line.close()
  }
}

/** A chat on the terminal, until the user leaves. */
export async function talk(context: CommandContext, line: ChatLine, input: { plain?: boolean }): Promise<ExitCode> {
  if (input.plain || context.env.TERM === 'dumb') await talkPlainly(context, line)
  else await talkDrawn(context, line)
  return exitCodes.fine
}

async function talkDrawn(context: CommandContext, line: ChatLine): Promise<void> {
  const [{ runTui }, { openTuiPartner }, { openChatMachine }] = await Promise.all([
    import('../chat/run-tui.ts'),
    import('../chat/daemon-partner.ts'),
    import('../chat/chat-machine.ts'),
  ])
  const { stdin: input, stdout: output, signal } = context
  const colours = hasColours(output, context.env)
  const [partner, machine] = await Promise.all([openTuiPartner(line), openChatMachine(context)])
  await runTui({ input, output, partner, machine, colours, clock: systemClock(), signal })
}

async function talkPlainly(context: CommandContext, line: ChatLine): Promise<void> {
  const { runPlainChat } = await import('../chat/plain-chat.ts')
  const { stdin: input, stdout, signal, output } = context
  output.print(output.style('dim', `Session ${line.session()}, ${whereOf(line)}. /help lists the commands.`))
  const colours = hasColours(stdout, context.env)
  await runPlainChat({ input, output: stdout, ...openChatSession(line), colours, clock: systemClock(), signal })
}

async function pipe(context: CommandContext, line: ChatLine, input: ChatInput & { json?: boolean }) {
  const { runPipeChat } = await import('../chat/plain-chat.ts')
  const isFine = await runPipeChat({
    input: context.stdin,
    write: (text) => void context.stdout.write(text),
    ...openChatSession(line),
    once: input.once === true,
    signal: context.signal,
    ...(input.json && { onEvent: jsonLines(context) }),
  })
  if (context.signal.aborted) throw interrupted()
  return isFine ? exitCodes.fine : exitCodes.failed
}
