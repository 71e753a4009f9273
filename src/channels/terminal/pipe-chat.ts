import { createInterface } from 'node:readline'
import { addAbortSignal, type Readable } from 'node:stream'
import { toDisplayText } from '../../base/text.ts'
import type { StreamedEvent, TurnOutcome } from '../../protocol/event.ts'
import type { ChatCommand, ChatCommands, ChatPartner } from './chat-partner.ts'

/**
 * Chat without a terminal: every line that is not empty is a message or, with a slash, a command, answered before the
 * next is read; only the replies are written. Two slashes begin a message with one. A command that asks first is not
 * done: nobody is there to say yes. True where every turn and command came to a good end.
 */
export async function runPipeChat(options: {
  input: Readable
  write(text: string): void
  partner: ChatPartner
  commands: ChatCommands
  /** What the terminal does by itself, beside leaving. */
  ownCommands: Readonly<Record<string, ChatCommand>>
  /** All of the input is one message. */
  once: boolean
  /** Told every event, in place of writing the replies. */
  onEvent?: (event: StreamedEvent | PipedCommand) => void
  /** Stops the running turn and reads no further. */
  signal: AbortSignal
}): Promise<boolean> {
  const { input, write, partner, commands, ownCommands, once, onEvent, signal } = options
  signal.addEventListener('abort', () => void partner.stop().catch(() => undefined), { once: true })
  let isFine = true

  async function command(line: string, name: string): Promise<void> {
    const own = Object.hasOwn(ownCommands, name) ? ownCommands[name] : undefined
    const reply = own ? { ok: true, text: (await own.run()).join('\n') } : await commands.run(line)
    const isAsked = 'confirm' in reply && reply.confirm !== undefined
    const text = isAsked
      ? `${reply.text}\nNothing was done: it asks first, and in a pipe nobody can answer.`
      : reply.text
    const ok = reply.ok && !isAsked
    isFine &&= ok
    if (onEvent) onEvent({ command: line, ok, text })
    else write(`${toDisplayText(text)}\n`)
  }

  const texts = once
    ? wholeOf(addAbortSignal(signal, input))
    : createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY, signal })
  for await (const text of texts) {
    if (signal.aborted) break
    if (text.trim() === '') continue
    // A whole document may begin with a path; only a line by itself is a command.
    const [, name] = /^\s*\/(?!\/)(\S*)[^\n]*\n?$/.exec(text) ?? []
    if (name === 'exit' || name === 'quit') break
    if (name !== undefined) {
      await command(text.trim(), name)
      continue
    }
    const isLine = !text.trimEnd().includes('\n')
    const said = isLine && text.startsWith('//') ? text.slice(1) : text
    for await (const streamed of partner.say(said)) {
      onEvent?.(streamed)
      const { event } = streamed
      if (event.type === 'turn_end') isFine &&= isGood(event.outcome)
      if (event.type === 'response' && event.deliver && !onEvent) write(`${toDisplayText(event.text)}\n`)
    }
  }
  return isFine
}

/** What a command answered, in a line of its own among the events. */
export interface PipedCommand {
  command: string
  ok: boolean
  text: string
}

function isGood(outcome: TurnOutcome): boolean {
  return outcome === 'completed' || outcome === 'question'
}

async function* wholeOf(input: Readable): AsyncGenerator<string> {
  const chunks: Buffer[] = []
  for await (const chunk of input) chunks.push(Buffer.from(chunk))
  yield Buffer.concat(chunks).toString()
}
