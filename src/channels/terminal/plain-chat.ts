import { type CompleterResult, createInterface, type Interface, type Key } from 'node:readline'
import { styleText } from 'node:util'
import type { Clock } from '../../base/clock.ts'
import { toDisplayText } from '../../base/text.ts'
import { readSpokenAnswer } from '../../policy/spoken-answer.ts'
import type { ChatCommand, ChatCommands, ChatPartner } from './chat-partner.ts'
import { createStatusLine, type TerminalStream } from './status-line.ts'
import { createTurnText } from './turn-text.ts'

const promptText = '› '
/** Two presses of Ctrl-C within this time are meant as one wish to leave, whatever the first one stopped. */
const againMs = 3_000

export interface PlainChatOptions {
  input: NodeJS.ReadableStream
  output: TerminalStream & NodeJS.WritableStream
  partner: ChatPartner
  commands: ChatCommands
  /** What the terminal does by itself, beside leaving. */
  ownCommands: Readonly<Record<string, ChatCommand>>
  colours: boolean
  clock: Clock
  /** Ends the chat from outside. */
  signal: AbortSignal
}

/**
 * A chat line by line: type, watch the reply come, type again. Ctrl-C stops the running turn, and leaves where none is
 * running or when pressed again. Resolves when the user leaves; a turn that is still running goes on without.
 */
export async function runPlainChat(options: PlainChatOptions): Promise<void> {
  const { input, output, partner, commands, ownCommands, colours, clock, signal } = options
  const lines = createInterface({
    input,
    output,
    prompt: promptText,
    historySize: 500,
    terminal: output.isTTY === true,
    completer(line: string, answer: (error: null, found: CompleterResult) => void) {
      void complete(line).then((found) => answer(null, found))
    },
  })
  const status = createStatusLine({ stream: output, clock, afterMs: 700 })
  const waiting: string[] = []
  const left = Promise.withResolvers<void>()
  let isRunning = false
  let hasLeft = false
  let atLineStart = true
  /** The command that the user is asked about: the next line may be the answer. */
  let asked: { line: string; confirm: string } | undefined
  /** When Ctrl-C was pressed last, with nothing typed since. */
  let pressedAt: number | undefined

  const dim = (text: string) => (colours ? styleText('dim', text, { validateStream: false }) : text)

  function write(text: string): void {
    if (hasLeft) return
    status.clear()
    output.write(text)
    atLineStart = text.endsWith('\n')
  }
  const aside = (text: string) => write(`${atLineStart ? '' : '\n'}${dim(`  · ${text}`)}\n`)
  const say = (text: string) => write(`${toDisplayText(text)}\n`)
  const prompt = () => hasLeft || isRunning || lines.prompt()

  async function converse(text: string): Promise<void> {
    const turn = createTurnText({ now: clock.now, colours })
    const showActivity = () => {
      const activity = turn.activity()
      // What the user is typing ahead stands on that line.
      if (activity && lines.line === '') status.show(activity)
    }
    showActivity()
    for await (const { event } of partner.say(text)) {
      const shown = turn.add(event)
      if (shown !== '') write(shown)
      if (hasLeft) return
      showActivity()
    }
  }

  async function command(line: string, confirm?: string): Promise<void> {
    const [, name = '', argument = ''] = /^\/(\S*)\s*(.*)$/s.exec(line) ?? []
    if (name === 'exit' || name === 'quit') return left.resolve()
    const own = Object.hasOwn(ownCommands, name) ? ownCommands[name] : undefined
    if (own) {
      for (const shown of await own.run()) say(shown)
      return
    }
    const reply = await commands.run(line, confirm)
    say(reply.text)
    if (name === 'help' && argument === '') say(helpText(ownCommands))
    asked = reply.confirm === undefined ? undefined : { line, confirm: reply.confirm }
    if (asked) aside('yes does it; anything else leaves it as it is')
  }

  async function complete(line: string): Promise<CompleterResult> {
    if (!line.startsWith('/')) return [[], line]
    const found = await commands.complete(line).catch(() => undefined)
    if (!found) return [[], line]
    const texts = found.candidates.map(({ text }) => text)
    // The only one is what was meant: the next word may follow.
    return [texts.length === 1 ? texts.map((text) => `${text.trimEnd()} `) : texts, line.slice(found.start)]
  }

  function runCommand(line: string, confirm?: string): void {
    command(line, confirm)
      .catch((error: unknown) => say(describe(error)))
      .finally(prompt)
  }

  /** True where the line was the answer to what was asked. Whatever is no plain yes leaves all as it is. */
  function isAnswer(text: string): boolean {
    if (!asked) return false
    const { line, confirm } = asked
    asked = undefined
    const answer = text.toLowerCase() === 'y' ? 'approve' : text.toLowerCase() === 'n' ? 'deny' : readSpokenAnswer(text)
    if (answer === 'approve') {
      runCommand(line, confirm)
      return true
    }
    aside('left as it was')
    if (answer === 'deny') prompt()
    return answer === 'deny'
  }

  /** One message after another; commands do not wait for them. */
  async function work(): Promise<void> {
    if (isRunning) return
    isRunning = true
    for (let text = waiting.shift(); text !== undefined; text = waiting.shift()) {
      await converse(text).catch((error: unknown) => say(describe(error)))
      status.clear()
    }
    isRunning = false
    prompt()
  }

  lines.on('line', (line) => {
    const text = line.trim()
    if (text === '') return prompt()
    if (isAnswer(text)) return
    if (text.startsWith('/') && !text.startsWith('//')) return runCommand(text)
    waiting.push(text.startsWith('//') ? text.slice(1) : line)
    void work()
  })
  lines.on('SIGINT', () => {
    const isAgain = pressedAt !== undefined && (isRunning || clock.now() - pressedAt < againMs)
    pressedAt = clock.now()
    if (isAgain) return left.resolve()
    if (isRunning) {
      waiting.length = 0
      partner.stop().catch((error: unknown) => say(describe(error)))
      return aside('stopping; Ctrl-C again leaves')
    }
    clearLine(lines)
    output.write('\n')
    aside('Ctrl-C again, or /exit, leaves')
    prompt()
  })
  input.on('keypress', (_text, key: Key) => {
    if (!(key.ctrl && key.name === 'c')) pressedAt = undefined
    // Typing ahead goes where the status line stands.
    if (lines.line !== '' && status.clear()) lines.prompt(true)
  })
  lines.on('close', left.resolve)
  signal.addEventListener('abort', () => left.resolve(), { once: true })
  if (signal.aborted) left.resolve()

  lines.prompt()
  await left.promise
  status.clear()
  hasLeft = true
  lines.close()
  output.write('\n')
}

function helpText(commands: PlainChatOptions['ownCommands']): string {
  const own = Object.entries(commands).map(([name, { help }]) => `/${name}  ${help}`)
  return ['At this terminal:', ...own, '/exit  leave (or Ctrl-D)', '//  begins a message with a slash'].join('\n')
}

/** Throws away what was typed so far, as shells do. */
function clearLine(lines: Interface): void {
  lines.write(null, { ctrl: true, name: 'e' })
  lines.write(null, { ctrl: true, name: 'u' })
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
