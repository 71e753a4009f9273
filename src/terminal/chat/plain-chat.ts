import { type CompleterResult, createInterface, type Interface, type Key } from 'node:readline'
import type { Readable } from 'node:stream'
import { styleText } from 'node:util'
import type { Clock } from '../../base/clock.ts'
import { toDisplayText } from '../../base/text.ts'
import { plainReply } from '../../protocol/choices.ts'
import type { StreamedEvent, TurnEvent, TurnOutcome } from '../../protocol/events.ts'
import { readSpokenAnswer } from '../../security/spoken-answer.ts'
import { messageOf, readStandardInput } from '../command.ts'
import type { ChatSession } from './chat-line.ts'
import { createStatusLine, type TerminalStream } from './status-line.ts'

const promptText = '› '
/** Two presses of Ctrl-C within this time are meant as one wish to leave, whatever the first one stopped. */
const againMs = 3_000

interface PlainChatOptions extends ChatSession {
  input: NodeJS.ReadableStream
  output: TerminalStream & NodeJS.WritableStream
  colours: boolean
  clock: Clock
  /** Ends the chat from outside. */
  signal: AbortSignal
}

/**
 * A chat line by line: type, watch the reply come, type again. Ctrl-C stops the running turn, and leaves where none is
 * running or when pressed again. Resolves when the user leaves; a turn that is still running continues without.
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
      // That line has the text that the user types ahead.
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
    if (asked) aside('yes confirms; anything else cancels')
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
      .catch((error: unknown) => say(messageOf(error)))
      .finally(prompt)
  }

  /** True if the line answered a question. Only a plain yes changes something. */
  function isAnswer(text: string): boolean {
    if (!asked) return false
    const { line, confirm } = asked
    asked = undefined
    const answer = readSpokenAnswer(text)
    if (answer === 'approve') {
      runCommand(line, confirm)
      return true
    }
    aside('nothing changed')
    if (answer === 'deny') prompt()
    return answer === 'deny'
  }

  /** One message after another; commands do not wait for them. */
  async function work(): Promise<void> {
    if (isRunning) return
    isRunning = true
    for (let text = waiting.shift(); text !== undefined; text = waiting.shift()) {
      await converse(text).catch((error: unknown) => say(messageOf(error)))
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
      partner.stop().catch((error: unknown) => say(messageOf(error)))
      return aside('stopping; Ctrl-C again exits')
    }
    clearLine(lines)
    output.write('\n')
    aside('Ctrl-C again, or /exit, leaves')
    prompt()
  })
  input.on('keypress', (_text, key: Key) => {
    if (!(key.ctrl && key.name === 'c')) pressedAt = undefined
    // Text typed ahead appears on the status line.
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
  return ['At this terminal:', ...own, '/exit  leave (or Ctrl-D)', '//  starts a message with a slash'].join('\n')
}

/** Throws away what was typed so far, as shells do. */
function clearLine(lines: Interface): void {
  lines.write(null, { ctrl: true, name: 'e' })
  lines.write(null, { ctrl: true, name: 'u' })
}

/**
 * Chat without a terminal: every line that is not empty is a message or, with a slash, a command, answered before the
 * next is read; only the replies are written. Two slashes begin a message with one. A command that asks first is not
 * done: no one is there to say yes. True if every turn and command came to a good end.
 */
export async function runPipeChat(
  options: ChatSession & {
    input: Readable
    write(text: string): void
    /** All of the input is one message. */
    once: boolean
    /** Gets every event instead of writing the replies. */
    onEvent?: (event: StreamedEvent | PipedCommand) => void
    /** Stops the running turn and reads no further. */
    signal: AbortSignal
  },
): Promise<boolean> {
  const { input, write, partner, commands, ownCommands, once, onEvent, signal } = options
  signal.addEventListener('abort', () => void partner.stop().catch(() => undefined), { once: true })
  let isFine = true

  async function command(line: string, name: string): Promise<void> {
    const own = Object.hasOwn(ownCommands, name) ? ownCommands[name] : undefined
    const reply = own ? { ok: true, text: (await own.run()).join('\n') } : await commands.run(line)
    const isAsked = 'confirm' in reply && reply.confirm !== undefined
    const text = isAsked
      ? `${reply.text}\nNothing was changed: this command needs a confirmation, and there is no terminal to ask.`
      : reply.text
    const ok = reply.ok && !isAsked
    isFine &&= ok
    if (onEvent) onEvent({ command: line, ok, text })
    else write(`${toDisplayText(text)}\n`)
  }

  const texts = once
    ? [(await readStandardInput({ stdin: input, signal })).toString()]
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
      if (event.type === 'response' && event.deliver && !onEvent) write(`${toDisplayText(plainReply(event))}\n`)
    }
  }
  return isFine
}

/** The reply of a command, as a line among the events. */
export interface PipedCommand {
  command: string
  ok: boolean
  text: string
}

function isGood(outcome: TurnOutcome): boolean {
  return outcome === 'completed' || outcome === 'question'
}

export function describeRecall({ memories }: Extract<TurnEvent, { type: 'memory_recalled' }>): string {
  return memories.length === 1 ? 'recalled a memory' : `recalled ${memories.length} memories`
}

const inputLimit = 60
const reasonLimit = 120

/**
 * The reply as it streams; tools, retries and notices as one dim line each. Control characters in untrusted text are
 * removed.
 */
export function createTurnText(options: { now: () => number; colours: boolean }) {
  const { now, colours } = options
  const running = new Map<string, { name: string; input: string; startedAt: number }>()
  let atLineStart = true
  /** The output since the last note. */
  let shown = ''
  let waitsUntil: number | undefined

  const paint = (style: 'dim' | 'red' | 'yellow', text: string) =>
    colours ? styleText(style, text, { validateStream: false }) : text

  function write(text: string): string {
    if (text !== '') atLineStart = text.endsWith('\n')
    return text
  }
  const endLine = () => (atLineStart ? '' : write('\n'))

  function aside(text: string, style: 'dim' | 'red' | 'yellow' = 'dim'): string {
    shown = ''
    return endLine() + write(`${paint(style, `  · ${clip(text, 300)}`)}\n`)
  }

  function speak(text: string): string {
    const safe = toDisplayText(text)
    // A model likes to begin with an empty line.
    const visible = shown === '' ? safe.trimStart() : safe
    shown += visible
    return write(visible)
  }

  function finish(text: string): string {
    const whole = toDisplayText(text).trim()
    const seen = shown.trim()
    if (whole === '' || seen.endsWith(whole)) return endLine()
    if (seen !== '' && whole.startsWith(seen)) return speak(whole.slice(seen.length)) + endLine()
    shown = ''
    return endLine() + speak(whole) + endLine()
  }

  return {
    /** The text to write; empty for an event that shows nothing. */
    add(event: TurnEvent): string {
      waitsUntil = undefined
      switch (event.type) {
        case 'text_delta':
          return speak(event.text)
        case 'tool_start':
          running.set(event.callId, { name: event.name, input: describeInput(event.input), startedAt: now() })
          return ''
        case 'tool_result': {
          const call = running.get(event.callId)
          running.delete(event.callId)
          const what = [event.name, call?.input].filter(Boolean).join(' ')
          const took = call ? `, ${formatTook(now() - call.startedAt)}` : ''
          if (!event.isError) return aside(`${what}${took}, ok`)
          return aside(`${what}${took}, failed: ${clip(event.result, reasonLimit)}`, 'red')
        }
        case 'retry':
          if (event.isQuiet) return aside('that was thinking; the reply follows')
          waitsUntil = now() + event.waitMs
          return aside(`${clip(event.reason, reasonLimit)}; trying again in ${formatTook(event.waitMs)}`, 'yellow')
        case 'memory_recalled':
          return aside(describeRecall(event))
        case 'response':
          return event.deliver ? finish(plainReply(event)) : endLine()
        case 'turn_end':
          // However it ended, the response has said so.
          return endLine()
        case 'context_warning':
          return aside(`the context is filling: ${event.inputTokens} of ${event.thresholdTokens} tokens`, 'yellow')
        case 'compaction':
          return aside(`the oldest ${event.messages} messages are now a summary`)
        case 'said':
          return aside(event.text)
        case 'reaction':
          return aside(event.emoji)
        case 'card':
          return aside(event.card.text)
        case 'media':
          if (event.media.length === 0) return ''
          return aside(event.media.map(({ path, name }) => path ?? name).join(', '))
        case 'approval_request':
        case 'message':
        case 'turn_start':
        case 'thinking_delta':
        case 'tool_calls':
        case 'tool_progress':
        case 'cost':
        case 'session_changed':
          return ''
        default:
          event satisfies never
          return ''
      }
    },
    /** The activity, for a status line; undefined while text arrives. */
    activity(): string | undefined {
      if (!atLineStart) return undefined
      if (running.size > 0) return [...running.values()].map((call) => call.name).join(', ')
      return waitsUntil === undefined ? 'thinking' : 'waiting to retry'
    },
  }
}

/** The most useful argument, nearly always the first text. */
function describeInput(input: unknown): string {
  if (typeof input !== 'object' || input === null) return ''
  const first = Object.values(input).find((value) => typeof value === 'string')
  return first ? JSON.stringify(clip(first, inputLimit)) : ''
}

function clip(text: string, limit: number): string {
  const line = toDisplayText(text).replace(/\s+/g, ' ').trim()
  return line.length <= limit ? line : `${line.slice(0, limit - 1)}…`
}

function formatTook(milliseconds: number): string {
  return milliseconds < 1_000 ? `${Math.round(milliseconds)} ms` : `${(milliseconds / 1_000).toFixed(1)} s`
}
