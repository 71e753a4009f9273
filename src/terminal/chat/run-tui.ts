import { fileURLToPath } from 'node:url'
import { decodeKittyPrintable, matchesKey, truncateToWidth, wrapTextWithAnsi } from '@earendil-works/pi-tui'
import type { Clock } from '../../base/clock.ts'
import type { Attachment, ContextReply } from '../../protocol/api.ts'
import { messageOf } from '../command.ts'
import { createChatController } from './chat-controller.ts'
import { createChatKeys, createStreamTerminal, type TerminalInput, type TerminalOutput } from './chat-keys.ts'
import type { TuiMachine } from './chat-machine.ts'
import { createChatScreen, type ScreenState } from './chat-screen.ts'
import { displayable, safeLines, shortCount } from './conversation.ts'
import type { TuiPartner } from './daemon-partner.ts'
import { createTheme, type TerminalTheme } from './theme.ts'

const tickMs = 100

export interface TuiOptions {
  input: TerminalInput
  output: TerminalOutput
  partner: TuiPartner
  machine: TuiMachine
  colours: boolean
  clock: Clock
  /** Ends the chat from outside. */
  signal: AbortSignal
}

/**
 * A chat that draws on the whole terminal. Resolves when the user leaves, with the terminal as it was; a turn that is
 * still running continues without.
 */
export async function runTui(options: TuiOptions): Promise<void> {
  const { partner, machine, clock, signal } = options
  const theme = createTheme(options)
  const left = new AbortController()
  const either = AbortSignal.any([signal, left.signal])
  const state: Pick<ScreenState, 'view' | 'hint'> = {
    view: { showsThinking: false, openCalls: 'none' },
    hint: undefined,
  }
  const images = new Map<string, Attachment>()
  const typed = [...displayable(machine.history)]
  const leave = () => left.abort()

  const controller = createChatController({
    partner,
    clock,
    ownCommands: { ...noteCommands(), context: { run: showWindow }, help: { run: showHelp } },
    onChange: changed,
    onLeave: leave,
    signal: either,
  })
  const { conversation } = controller
  const screen = createChatScreen({
    terminal: createStreamTerminal(options),
    theme,
    controller: () => controller,
    state: () => ({ ...state, isArmed: keys.isArmed(), isAnswering: keys.isAnswering() }),
    offers: { complete: (line) => partner.commands.complete(line), find: partner.find },
    greeting: [
      `${theme.bold(theme.accent('Familiar'))} ${theme.dim(displayable(partner.where))}`,
      theme.dim('/ commands · @ files · @@ blocks · Ctrl-R history · Ctrl-O tools · Ctrl-T thinking'),
    ],
    now: clock.now,
  })
  const { tui, editor } = screen
  const keys = createChatKeys(
    {
      firstAsk: () => conversation().asks[0],
      isRunning: () => conversation().turn !== undefined || conversation().pending.length > 0,
      isLineEmpty: () => editor.isEmpty(),
      clearLine: () => editor.setText(''),
      answer: controller.answer,
      choose: controller.choose,
      putOff: controller.putOff,
      askSecret,
      stop: controller.stop,
      leave,
      searchHistory,
      takeClipboardImage: () => void takeClipboardImage(),
      takePastedImage,
      changeView(change) {
        state.view = change(state.view)
      },
      hint(text) {
        state.hint = text
        screen.redraw()
      },
      redraw: screen.redraw,
    },
    clock,
  )

  editor.onSubmit = (text) => {
    const shown = editor.shown()
    if (text === '') return
    const isAnswer = keys.isAnswering()
    typed.unshift(text)
    editor.addToHistory(text)
    machine.remember(text)
    const attachments = [...images].filter(([mark]) => text.includes(mark)).map(([, image]) => image)
    images.clear()
    controller.submit({ text, shown, attachments, isAnswer })
  }
  for (const text of typed.slice(0, 100).toReversed()) editor.addToHistory(text)

  let asking: string | undefined
  /** Keys that were pressed while a file was looked for: an Enter must not overtake the image before it. */
  const held: string[] = []
  let isHolding = false
  let isTicking = false
  let isAskingSecret = false

  function changed(): void {
    const [first] = conversation().asks
    if (first?.id !== asking) {
      asking = first?.id
      keys.asked()
      // It was answered elsewhere, or its time is up.
      if (isAskingSecret) endSecret()
    }
    screen.redraw()
    tick()
  }

  /** Time that is shown passes. */
  function tick(): void {
    if (isTicking || either.aborted || !conversation().turn) return
    isTicking = true
    clock.after(tickMs, () => {
      isTicking = false
      screen.redraw()
      tick()
    })
  }

  /** Opened by the user alone: what they were typing just then must not become the secret. */
  function askSecret(): void {
    const [first] = conversation().asks
    if (first?.kind !== 'secret') return
    const onDone = (value: string | undefined) => {
      endSecret()
      if (value === undefined) controller.putOff()
      else controller.giveSecret(value)
    }
    isAskingSecret = true
    screen.show(createSecretInput({ theme, name: first.secret, onDone }))
  }

  function endSecret(): void {
    isAskingSecret = false
    screen.show(undefined)
  }

  function searchHistory(): void {
    const onDone = (chosen: string | undefined) => {
      screen.show(undefined)
      if (chosen !== undefined) editor.setText(chosen)
    }
    screen.show(createHistorySearch({ theme, entries: typed, onDone }))
  }

  function attach(image: Attachment): void {
    const name = displayable(image.name)
    let mark = `[image ${name}]`
    for (let copy = 2; images.has(mark); copy += 1) mark = `[image ${name} ${copy}]`
    images.set(mark, image)
    editor.insertTextAtCursor(`${mark} `)
    screen.redraw()
  }

  function takePastedImage(data: string): boolean {
    const path = imagePathIn(pasted(data) ?? '')
    if (path === undefined) return false
    isHolding = true
    machine
      .readImage(path)
      .then(
        (image) => (image ? attach(image) : editor.handleInput(data)),
        (error: unknown) => controller.dispatch({ type: 'note', tone: 'bad', text: messageOf(error) }),
      )
      .finally(releaseKeys)
    return true
  }

  function releaseKeys(): void {
    const waiting = held.splice(0)
    isHolding = false
    for (const [place, data] of waiting.entries()) {
      if (!keys.press(data)) editor.handleInput(data)
      // It may have been another image, which holds those after it.
      if (!isHolding) continue
      held.push(...waiting.slice(place + 1))
      break
    }
    screen.redraw()
  }

  async function takeClipboardImage(): Promise<void> {
    const image = await machine.clipboardImage().catch(() => undefined)
    if (image) return attach(image)
    state.hint = 'no image in the clipboard'
    screen.redraw()
  }

  /** Information about the session, as a note. */
  function noteCommands(): Record<string, { run(): Promise<void> }> {
    const commands = Object.entries(partner.ownCommands).map(([name, command]) => {
      const run = async () =>
        controller.dispatch({ type: 'note', tone: 'plain', text: (await command.run()).join('\n') })
      return [name, { run }]
    })
    return Object.fromEntries(commands)
  }

  async function showWindow(): Promise<void> {
    const report = await partner.context()
    if (!report) return controller.dispatch({ type: 'note', tone: 'quiet', text: 'No messages yet.' })
    const safe = displayable(report)
    controller.dispatch({ type: 'picture', draw: (width) => drawWindow(safe, { width, theme }) })
  }

  async function showHelp(): Promise<void> {
    const { text } = await partner.commands.run('/help')
    controller.dispatch({ type: 'note', tone: 'plain', text })
    controller.dispatch({ type: 'note', tone: 'plain', text: keyHelp })
  }

  tui.addInputListener((data) => {
    if (screen.hasModal()) return undefined
    if (isHolding) {
      held.push(data)
      return { consume: true }
    }
    const isUsed = keys.press(data)
    if (isUsed) screen.redraw()
    return isUsed ? { consume: true } : undefined
  })
  options.input.on('end', leave)
  tui.start()
  changed()
  await new Promise<void>((resolve) => {
    if (either.aborted) resolve()
    either.addEventListener('abort', () => resolve(), { once: true })
  })
  tui.renderNow()
  tui.stop()
  options.input.off('end', leave)
}

const keyHelp = [
  'At this terminal:',
  'Enter sends; Shift-Enter, Alt-Enter, Ctrl-J or \\ and Enter start a new line',
  '@ finds files, @@ blocks, Tab completes, Esc closes the list',
  'Ctrl-R searches your earlier messages; the arrow keys step through them',
  'Ctrl-O opens the newest tool call, then all; Ctrl-T the thinking',
  'Ctrl-V pastes an image from the clipboard; a dropped file is attached',
  'Ctrl-C stops the reply, twice exits; Ctrl-D on an empty line exits; /exit exits',
  '// starts a message with a slash',
].join('\n')

const fills = ['█', '▓', '▒', '░', '▚', '▞']

/** The context window as a bar by block, the free part as a line, and a legend below. */
export function drawWindow(report: ContextReply, drawing: { width: number; theme: TerminalTheme }): string[] {
  const { width, theme } = drawing
  const paints = [theme.accent, theme.good, theme.warning, theme.accent, theme.good, theme.warning]
  const parts = partsOf(report)
  const total = parts.reduce((sum, { tokens }) => sum + tokens, 0)
  const room = Math.max(total, report.threshold_tokens)
  const columns = Math.max(10, Math.min(width, 72))
  const cells = share([...parts.map(({ tokens }) => tokens), room - total], columns)
  const bar = parts.map((_, place) =>
    (paints[place % paints.length] ?? theme.dim)(fillOf(place).repeat(cells[place] ?? 0)),
  )
  const free = theme.dim('·'.repeat(cells.at(-1) ?? 0))
  const percent = room === 0 ? 0 : Math.round((total / room) * 100)
  const nameWidth = Math.max(4, ...parts.map(({ name }) => name.length))
  const legend = parts.map(({ name, tokens, cached }, place) => {
    const mark = (paints[place % paints.length] ?? theme.dim)(fillOf(place))
    const note = cached > 0 ? theme.dim(` ${shortCount(cached)} cached`) : ''
    return `${mark} ${name.padEnd(nameWidth)} ${shortCount(tokens).padStart(6)}${note}`
  })
  const summary = `${shortCount(total)} of ${shortCount(room)} tokens (${percent} %); older messages are summarized at ${shortCount(report.threshold_tokens)}.`
  const last =
    report.last_request_tokens === null
      ? 'No request sent yet.'
      : `The last request had ${shortCount(report.last_request_tokens)} by the provider's count.`
  return [
    bar.join('') + free,
    '',
    ...legend,
    `${theme.dim('·')} ${'free'.padEnd(nameWidth)} ${shortCount(Math.max(0, room - total)).padStart(6)}`,
    '',
    ...[summary, last].flatMap((line) => wrapTextWithAnsi(line, width)).map(theme.dim),
  ]
}

function fillOf(place: number): string {
  return fills[place % fills.length] ?? '█'
}

function partsOf({ blocks }: ContextReply) {
  const parts = new Map<string, { name: string; tokens: number; cached: number }>()
  for (const { tier, tokens, cached } of blocks) {
    const sum = parts.get(tier) ?? { name: tier, tokens: 0, cached: 0 }
    parts.set(tier, { name: tier, tokens: sum.tokens + tokens, cached: sum.cached + (cached ? tokens : 0) })
  }
  return [...parts.values()].filter(({ tokens }) => tokens > 0)
}

/** Whole columns in proportion, one at least for whatever is there, that add up to `columns`. */
export function share(amounts: readonly number[], columns: number): number[] {
  const total = amounts.reduce((sum, amount) => sum + amount, 0)
  if (total <= 0) return amounts.map(() => 0)
  const cells = amounts.map((amount) => (amount > 0 ? Math.max(1, Math.floor((amount / total) * columns)) : 0))
  const rest = columns - cells.reduce((sum, cell) => sum + cell, 0)
  const largest = amounts.indexOf(Math.max(...amounts))
  cells[largest] = Math.max(0, (cells[largest] ?? 0) + rest)
  return cells
}

const shownMatches = 6

/** A search through earlier input: type to narrow, Ctrl-R goes further back, Enter takes it, Esc leaves. */
function createHistorySearch(options: {
  theme: TerminalTheme
  /** The newest first. */
  entries: readonly string[]
  onDone: (chosen: string | undefined) => void
}) {
  const { theme, entries, onDone } = options
  let query = ''
  let chosen = 0
  let found = searchHistory(entries, query)

  function look(next: string): void {
    query = next
    chosen = 0
    found = searchHistory(entries, query)
  }

  return {
    handleInput(data: string) {
      if (matchesKey(data, 'escape') || matchesKey(data, 'ctrl+c')) return onDone(undefined)
      if (matchesKey(data, 'enter') || matchesKey(data, 'tab')) return onDone(found[chosen])
      if (matchesKey(data, 'ctrl+r') || matchesKey(data, 'up')) chosen = Math.min(chosen + 1, found.length - 1)
      else if (matchesKey(data, 'down')) chosen = Math.max(chosen - 1, 0)
      else if (matchesKey(data, 'backspace')) look(query.slice(0, -1))
      else if (matchesKey(data, 'ctrl+u')) look('')
      else {
        const typed = decodeKittyPrintable(data) ?? data
        if (!/\p{Cc}/u.test(typed)) look(query + typed)
      }
    },
    render(width: number): string[] {
      const first = Math.max(0, Math.min(chosen - shownMatches + 1, found.length - shownMatches))
      const lines = found.slice(first, first + shownMatches).map((entry, place) => {
        const line = truncateToWidth(entry.replace(/\s+/g, ' '), Math.max(1, width - 4), '…')
        return first + place === chosen ? theme.accent(` › ${line}`) : theme.dim(`   ${line}`)
      })
      const none = theme.dim(entries.length === 0 ? '   no earlier messages' : '   no match')
      const rule = theme.dim('─'.repeat(width))
      const prompt = ` ${theme.dim('search')} ${query}\u001b[7m \u001b[0m`
      return safeLines([rule, prompt, rule, ...(lines.length > 0 ? lines : [none])], width)
    },
    invalidate() {},
  }
}

/** Entries that hold every word, whatever the case, each once, in the order in which they are given. */
export function searchHistory(entries: readonly string[], query: string): string[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  return [...new Set(entries)].filter((entry) => {
    const text = entry.toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

const images = /\.(?:png|jpe?g|gif|webp)$/i

/**
 * The path of an image where that is all of what was pasted: plain, quoted, with escaped spaces, or as an address, as
 * terminals write a file that is dropped on them.
 */
export function imagePathIn(text: string): string | undefined {
  const line = text.trim()
  if (line === '' || line.length > 4_096 || line.includes('\n')) return undefined
  const path = withoutQuotes(line)
  return path !== undefined && images.test(path) && /^(?:\/|~\/|\.{1,2}\/|[A-Za-z]:\\)/.test(path) ? path : undefined
}

function withoutQuotes(line: string): string | undefined {
  const quoted = /^(['"])(.*)\1$/.exec(line)?.[2]
  if (quoted !== undefined) return quoted
  if (line.startsWith('file://')) return fromAddress(line)
  // Several words without an escape are words.
  if (/(?<!\\)\s/.test(line)) return undefined
  return line.replace(/\\(?=[\s'"()[\]&;\\])/g, '')
}

function fromAddress(address: string): string | undefined {
  try {
    return fileURLToPath(address)
  } catch {
    return undefined
  }
}

/** A line whose characters are never shown, kept or put into the history. */
function createSecretInput(options: {
  theme: TerminalTheme
  name: string
  onDone: (value: string | undefined) => void
}) {
  const { theme, name, onDone } = options
  let value = ''
  return {
    handleInput(data: string) {
      if (matchesKey(data, 'escape') || matchesKey(data, 'ctrl+c')) return onDone(undefined)
      if (matchesKey(data, 'enter')) return onDone(value.trim() === '' ? undefined : value.trim())
      if (matchesKey(data, 'backspace')) value = value.slice(0, -1)
      else if (matchesKey(data, 'ctrl+u')) value = ''
      else {
        const typed = pasted(data) ?? decodeKittyPrintable(data) ?? data
        if (!/\p{Cc}/u.test(typed)) value += typed
      }
    },
    render(width: number): string[] {
      const rule = theme.dim('─'.repeat(width))
      // Not even the length, which would reveal much of a short one.
      const dots = value === '' ? '' : '••••••••'
      return safeLines([rule, ` ${theme.dim(name)} ${dots}\u001b[7m \u001b[0m`, rule], width)
    },
    invalidate() {},
  }
}

/** The text between the marks of a paste, without its line end. */
function pasted(data: string): string | undefined {
  if (!data.startsWith('\u001b[200~')) return undefined
  return data
    .slice('\u001b[200~'.length)
    .replace('\u001b[201~', '')
    .replace(/\r?\n$/, '')
}
