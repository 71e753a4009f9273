import { matchesKey, StdinBuffer, type Terminal } from '@earendil-works/pi-tui'
import type { Clock } from '../../base/clock.ts'
import type { Ask, ChatView } from './conversation.ts'

/** Two presses of Ctrl-C within this time are meant as one wish to leave, whatever the first one stopped. */
const againMs = 3_000
/** A key answers a question only when it has stood there this long with no key pressed: it was not meant for the line. */
const armingMs = 600

interface KeyActions {
  firstAsk(): Ask | undefined
  isRunning(): boolean
  isLineEmpty(): boolean
  clearLine(): void
  answer(word: 'approve' | 'deny'): void
  /** Answers the first question with the option at this place. */
  choose(place: number): void
  putOff(): void
  /** Opens the line for hidden input. */
  askSecret(): void
  stop(): void
  leave(): void
  searchHistory(): void
  takeClipboardImage(): void
  /** True if the paste is an image, which is then attached. */
  takePastedImage(data: string): boolean
  changeView(change: (view: ChatView) => ChatView): void
  /** Said for a moment at the edge of the screen. */
  hint(text: string | undefined): void
  redraw(): void
}

export function createChatKeys(actions: KeyActions, clock: Clock) {
  let pressedAt: number | undefined
  let quietSince = clock.now()
  let cancelArming = () => {}
  let cancelHint = () => {}
  let isLineOlder = false

  function disturb(): void {
    quietSince = clock.now()
    cancelArming()
    cancelArming = clock.after(armingMs, actions.redraw)
  }

  function isArmed(): boolean {
    return actions.isLineEmpty() && clock.now() - quietSince >= armingMs
  }

  function interrupt(): void {
    const isAgain = pressedAt !== undefined && (actions.isRunning() || clock.now() - pressedAt < againMs)
    pressedAt = clock.now()
    cancelHint()
    cancelHint = clock.after(againMs, () => actions.hint(undefined))
    if (isAgain) actions.leave()
    else if (actions.isRunning()) {
      actions.stop()
      actions.hint('stopping · Ctrl-C again exits')
    } else {
      actions.clearLine()
      actions.hint('Ctrl-C again exits')
    }
  }

  /** An answer by one key, if the key can only mean that. */
  function answers(data: string): boolean {
    const ask = actions.firstAsk()
    const kind = ask?.kind
    const choices = ask?.kind === 'choice' || ask?.kind === 'question' ? ask.choices : undefined
    // Several options are typed: a key could be only the first of them.
    if (choices && !choices.multiple && isArmed() && /^[1-9]$/.test(data) && Number(data) <= choices.options.length) {
      actions.choose(Number(data) - 1)
      return true
    }
    if ((kind !== 'approval' && kind !== 'confirm') || !isArmed()) return false
    if (ask?.kind === 'approval' && /^[1-9]$/.test(data) && Number(data) <= ask.scopes.length) {
      actions.choose(Number(data) - 1)
      return true
    }
    if (data !== 'y' && data !== 'n') return false
    actions.answer(data === 'y' ? 'approve' : 'deny')
    return true
  }

  function act(data: string): boolean {
    if (matchesKey(data, 'ctrl+c')) interrupt()
    else if (matchesKey(data, 'ctrl+d') && actions.isLineEmpty()) actions.leave()
    else if (matchesKey(data, 'ctrl+r')) actions.searchHistory()
    else if (matchesKey(data, 'ctrl+v')) actions.takeClipboardImage()
    else if (matchesKey(data, 'ctrl+t')) actions.changeView((view) => ({ ...view, showsThinking: !view.showsThinking }))
    else if (matchesKey(data, 'ctrl+o'))
      actions.changeView((view) => ({ ...view, openCalls: nextOpen[view.openCalls] }))
    else if (matchesKey(data, 'escape') && isAskedAlone()) actions.putOff()
    else if (matchesKey(data, 'tab') && isAskedAlone() && actions.firstAsk()?.kind === 'secret') actions.askSecret()
    else return actions.takePastedImage(data)
    return true
  }

  function isAskedAlone(): boolean {
    return actions.firstAsk() !== undefined && actions.isLineEmpty()
  }

  return {
    isArmed,
    /** The line was started after the question appeared: only then can it be the answer. */
    isAnswering: () => !isLineOlder,
    asked(): void {
      isLineOlder = !actions.isLineEmpty()
      disturb()
    },
    /** True if the key is used up. */
    press(data: string): boolean {
      if (actions.isLineEmpty()) isLineOlder = false
      if (!matchesKey(data, 'ctrl+c')) {
        pressedAt = undefined
        actions.hint(undefined)
      }
      const isUsed = answers(data) || act(data)
      disturb()
      return isUsed
    },
  }
}

const nextOpen = { none: 'newest', newest: 'all', all: 'none' } as const

export interface TerminalInput extends NodeJS.ReadableStream {
  setRawMode?(isRaw: boolean): unknown
}

export interface TerminalOutput extends NodeJS.WritableStream {
  columns?: number | undefined
  rows?: number | undefined
}

const brackets = { on: '\u001b[?2004h', off: '\u001b[?2004l' }
/** Distinguishes Shift-Enter from Enter on terminals that can; others ignore it. */
const tellingKeys = { on: '\u001b[>1u', off: '\u001b[<u' }
const cursor = { hide: '\u001b[?25l', show: '\u001b[?25h' }
/** A lone escape is the key only when nothing follows it for this long, over a slow line too. */
const escapeMs = 30

/**
 * A terminal over two streams. The library has one of its own, which takes the process's streams and writes what it
 * shows into a file where the environment says so.
 */
export function createStreamTerminal(options: { input: TerminalInput; output: TerminalOutput }): Terminal {
  const { input, output } = options
  let buffer: StdinBuffer | undefined
  let release = () => {}
  const write = (text: string) => void output.write(text)

  return {
    start(onInput, onResize) {
      const keys = new StdinBuffer({ escapeTimeout: escapeMs })
      keys.on('data', onInput)
      keys.on('paste', (content) => onInput(`\u001b[200~${content}\u001b[201~`))
      const onData = (chunk: string | Buffer) => keys.process(chunk)
      buffer = keys
      input.setRawMode?.(true)
      input.setEncoding('utf8')
      input.on('data', onData)
      output.on('resize', onResize)
      input.resume()
      write(brackets.on + tellingKeys.on)
      release = () => {
        input.off('data', onData)
        output.off('resize', onResize)
      }
    },
    stop() {
      write(brackets.off + tellingKeys.off)
      buffer?.destroy()
      buffer = undefined
      release()
      // Pending input must not reach the shell.
      input.pause()
      input.setRawMode?.(false)
    },
    async drainInput() {},
    write,
    get columns() {
      return output.columns || 80
    },
    get rows() {
      return output.rows || 24
    },
    kittyProtocolActive: false,
    moveBy: (lines) => write(lines > 0 ? `\u001b[${lines}B` : lines < 0 ? `\u001b[${-lines}A` : ''),
    hideCursor: () => write(cursor.hide),
    showCursor: () => write(cursor.show),
    clearLine: () => write('\u001b[K'),
    clearFromCursor: () => write('\u001b[J'),
    clearScreen: () => write('\u001b[2J\u001b[H'),
    // A title could show untrusted text outside the screen.
    setTitle() {},
    setProgress() {},
  }
}
