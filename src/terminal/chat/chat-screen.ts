import {
  type Component,
  Container,
  Editor,
  Markdown,
  setCapabilities,
  type Terminal,
  type TUI,
  TuiMainScreen,
  visibleWidth,
  wrapTextWithAnsi,
} from '@earendil-works/pi-tui'
import { displayWidth } from '../../base/text.ts'
import type { Choices } from '../../protocol/choices.ts'
import { approvalKeys } from '../../security/approval-texts.ts'
import type { ChatController } from './chat-controller.ts'
import { createCompletion, type Offers } from './completion.ts'
import {
  type Ask,
  type BuildItem,
  type ChatView,
  drawCall,
  drawStatus,
  type ItemDrawing,
  indent,
  margin,
  safeComponent,
  safeLines,
  type TerminalConversation,
  type TerminalItem,
  type Tone,
  toned,
} from './conversation.ts'
import type { TerminalTheme } from './theme.ts'

export interface ScreenState {
  view: ChatView
  /** Said at the right of the status line for a moment. */
  hint: string | undefined
  /** The keys that answer what is asked count now. */
  isArmed: boolean
  /** The line under way is the answer to what is asked. */
  isAnswering: boolean
}

/** From the top: greeting, transcript, pending messages, the question, the editor, the status. */
export function createChatScreen(options: {
  terminal: Terminal
  theme: TerminalTheme
  controller: () => ChatController
  state: () => ScreenState
  offers: Offers
  greeting: readonly string[]
  now: () => number
}) {
  const { terminal, theme, controller, state, offers, greeting, now } = options
  // Links are shown with their target and pictures by name, not as terminal sequences.
  setCapabilities({ images: null, trueColor: false, hyperlinks: false })
  const tui = new TuiMainScreen(terminal, false)
  const conversation = () => controller().conversation()
  const editor = new MessageEditor(tui, theme)
  editor.setAutocompleteProvider(createCompletion(offers))

  const slot = new Container()
  const transcript = createTranscript({ theme, conversation, view: () => state().view, now })
  const live = (draw: (width: number) => string[]): Component => ({
    render: (width) => safeLines(draw(width), width),
    invalidate() {},
  })

  tui.addChild(live((width) => [...greeting.flatMap((line) => wrapTextWithAnsi(line, width)), '']))
  tui.addChild(transcript)
  tui.addChild(
    live((width) =>
      drawPending(
        conversation().pending.map(({ shown }) => shown),
        width,
      ),
    ),
  )
  tui.addChild(
    live((width) => {
      const [first, ...others] = conversation().asks
      const { isArmed, isAnswering } = state()
      return first ? drawAsk(first, { width, theme, waiting: others.length, isArmed, isAnswering }) : []
    }),
  )
  tui.addChild(live(() => ['']))
  tui.addChild(slot)
  tui.addChild(
    live((width) => drawStatus(conversation(), controller().facts(), { width, theme, now: now(), hint: state().hint })),
  )

  /** Waiting: a turn is still running, or the connection is lost. */
  function drawPending(pending: readonly string[], width: number): string[] {
    if (pending.length === 0) return []
    const lines = pending.map((shown) => wrapTextWithAnsi(`› ${shown}`, width)[0] ?? '')
    return ['', ...lines.map(theme.dim)]
  }

  let modal: Component | undefined
  /** Shows it in place of the editor; undefined restores the editor. */
  function show(next: Component | undefined): void {
    modal = next
    slot.clear()
    slot.addChild(next ?? editor)
    tui.setFocus(next ?? editor)
    tui.requestRender()
  }
  show(undefined)

  return { tui, editor, show, hasModal: () => modal !== undefined, redraw: () => tui.requestRender() }
}

/** The question, with everything that an approval covers, and the keys. */
export function drawAsk(
  ask: Ask,
  drawing: { width: number; theme: TerminalTheme; waiting: number; isArmed: boolean; isAnswering: boolean },
): string[] {
  const { width, theme, waiting, isArmed, isAnswering } = drawing
  const bar = `${theme.warning('▌')} `
  const room = Math.max(1, width - 2)
  const keys =
    ask.kind === 'approval' || ask.kind === 'confirm' ? keysOf(ask, isArmed) : typed(ask, isArmed, isAnswering)
  const more = waiting > 0 ? ` · ${waiting} more waiting` : ''
  const lines = [...words(ask, theme), theme.dim(`${keys}${more}`)]
  return [
    '',
    ...indent(
      lines.flatMap((line) => wrapTextWithAnsi(line, room)),
      bar,
      bar,
    ),
  ]
}

function words(ask: Ask, theme: TerminalTheme): string[] {
  switch (ask.kind) {
    case 'approval': {
      const lines = ask.details.map(({ name, value }) => `${theme.dim(name)} ${value}`)
      return [theme.bold(ask.sentence), ...lines, theme.dim(ask.reason)]
    }
    case 'confirm':
      return [ask.text]
    case 'choice':
      return optionLines(ask.choices, theme)
    case 'question':
      return [
        `The Builder of ${theme.bold(ask.name)} asks:`,
        ask.text,
        ...(ask.choices ? optionLines(ask.choices, theme) : []),
      ]
    case 'secret':
      return [`The Builder of ${theme.bold(ask.name)} needs the secret ${theme.bold(ask.secret)}:`, ask.text]
    default:
      ask satisfies never
      return []
  }
}

function keysOf(ask: Extract<Ask, { kind: 'approval' | 'confirm' }>, isArmed: boolean): string {
  if (!isArmed) return '…'
  if (ask.kind === 'confirm') return 'y yes · n no'
  return approvalKeys(ask)
}

function optionLines({ options }: Choices, theme: TerminalTheme): string[] {
  return options.map(({ label, description }, at) => {
    return `${theme.bold(String(at + 1))} ${label}${description ? theme.dim(` · ${description}`) : ''}`
  })
}

function typed(ask: Extract<Ask, { kind: 'choice' | 'question' | 'secret' }>, isArmed: boolean, isAnswering: boolean) {
  if (ask.kind === 'secret') return 'Tab to enter it hidden; it is stored encrypted · Esc to answer later'
  if (ask.choices?.multiple) return 'Type one or more numbers, or your own answer · Esc to answer later'
  if (ask.choices && isArmed) {
    const own = ask.choices.allowText ? ', or type your own answer' : ''
    return `1–${ask.choices.options.length} to choose${own} · Esc to answer later`
  }
  return `${isAnswering ? 'Your next line is' : 'This line is still a message; the next one is'} the answer · Esc to answer later`
}

/** How the library writes a paste of many lines. */
const pasteMark = /\[paste #\d+ (?:\+(\d+) lines|(\d+) chars)\]/g

/** The input. A long paste is shown as one word and sent whole. */
class MessageEditor extends Editor {
  /** The text of the submit under way as it stood on the screen. */
  private typed = ''

  constructor(tui: TUI, theme: TerminalTheme) {
    super(tui, theme.editor, { paddingX: 1, autocompleteMaxVisible: 8 })
    this.onChange = (text) => {
      // The library empties the editor before it hands the text over.
      if (text !== '') this.typed = text
    }
  }

  /** The message as it was seen while it was typed; to be asked for inside `onSubmit`. */
  shown(): string {
    return namePastes(this.typed).trim()
  }

  isEmpty(): boolean {
    return this.getText() === ''
  }

  override render(width: number): string[] {
    const lines = super.render(width).map((line) => {
      const named = namePastes(line)
      return named.length < line.length ? named + ' '.repeat(line.length - named.length) : named
    })
    return safeLines(lines, width)
  }
}

export function namePastes(text: string): string {
  return text.replace(pasteMark, (_, lines: string | undefined, characters: string | undefined) =>
    lines === undefined
      ? `[pasted ${Number(characters).toLocaleString('en-US')} characters]`
      : `[pasted ${Number(lines).toLocaleString('en-US')} lines]`,
  )
}

/** Something said aside: what Familiar did by itself, or what a command answered. */
function drawNote(tone: Tone, text: string, { width, theme }: ItemDrawing): string[] {
  const left = margin(width)
  const room = Math.max(1, width - 2 * left.length - 2)
  const lines = text.split('\n').flatMap((line) => wrapColumns(line, room))
  return indent(lines, `${left}· `, `${left}  `).map(toned(theme, tone))
}

/** A line of two columns keeps them: text wraps inside its column. */
export function wrapColumns(line: string, room: number): string[] {
  const [, first = '', second = ''] = /^(\s*\S.*?\s{2,})(\S.*)$/.exec(line) ?? []
  const column = displayWidth(first)
  if (first === '' || column + displayWidth(second) <= room) return wrapTextWithAnsi(line, room)
  if (column + 16 <= room) return indent(wrapTextWithAnsi(second, room - column), first, ' '.repeat(column))
  const step = Math.min(4, room - 1)
  const below = indent(wrapTextWithAnsi(second, Math.max(1, room - step)), ' '.repeat(step), ' '.repeat(step))
  return [...wrapTextWithAnsi(first.trimEnd(), room), ...below]
}

const longMessage = 12
const recentLines = 4
const maxParagraphLength = 8_000

/** One thing of the conversation as lines. Pure: the same item, width and view give the same lines. */
export function drawItem(item: TerminalItem, drawing: ItemDrawing): string[] {
  const { theme, width } = drawing
  switch (item.kind) {
    case 'user':
      return drawUser(item, drawing)
    case 'answer':
      return drawMarkdown(item.text, drawing)
    case 'thinking':
      return drawThinking(item, drawing)
    case 'call':
      return drawCall(item, drawing)
    case 'card':
      return drawCard(item, drawing)
    case 'note':
      return drawNote(item.tone, item.text, drawing)
    case 'build':
      return drawBuild(item, drawing)
    case 'picture':
      return indent(item.draw(width - 2 * margin(width).length), margin(width), margin(width))
    default:
      item satisfies never
      return [theme.dim('')]
  }
}

/** Empty lines between two things: talk stands apart, work stays together. */
function gapBetween(before: TerminalItem | undefined, item: TerminalItem): number {
  if (!before) return 0
  const isWork = (one: TerminalItem) => one.kind === 'call' || one.kind === 'note' || one.kind === 'thinking'
  return isWork(before) && isWork(item) ? 0 : 1
}

function drawUser(item: Extract<TerminalItem, { kind: 'user' }>, { width, theme, isExpanded }: ItemDrawing): string[] {
  const from = item.from === undefined ? '' : theme.dim(`(${item.from}) `)
  const lines = wrapTextWithAnsi(from + item.text.replaceAll('\t', '  '), Math.max(1, width - 2))
  const hidden = isExpanded ? 0 : Math.max(0, lines.length - longMessage)
  const shown = hidden > 1 ? lines.slice(0, longMessage) : lines
  const more = hidden > 1 ? [theme.dim(`… ${hidden.toLocaleString('en-US')} more lines`)] : []
  return indent([...shown, ...more], theme.accent('› '), '  ')
}

/**
 * A paragraph that is too long to be written by hand is shown as plain text: parsing its emphasis takes quadratic time,
 * 23 seconds for 50 kB of `_a _a`.
 */
function drawMarkdown(text: string, { width, theme }: ItemDrawing): string[] {
  const left = margin(width)
  const inner = Math.max(1, width - 2 * left.length)
  const isParsed = text.split('\n\n').every((paragraph) => paragraph.length <= maxParagraphLength)
  const lines = isParsed ? new Markdown(text, 0, 0, theme.markdown()).render(inner) : wrapTextWithAnsi(text, inner)
  return indent(
    lines.map((line) => line.trimEnd()),
    left,
    left,
  )
}

function drawThinking(item: Extract<TerminalItem, { kind: 'thinking' }>, drawing: ItemDrawing): string[] {
  const { theme, width, showsThinking, now } = drawing
  const left = margin(width)
  const seconds = Math.round((item.tookMs ?? Math.max(0, now - item.startedAt)) / 1_000)
  const time = seconds > 0 ? ` ${seconds} s` : ''
  const title = item.tookMs === undefined ? `thinking${time}` : `thought${time ? ` for${time}` : ''}`
  if (!showsThinking) return [theme.dim(`${left}▸ ${title}`)]
  const lines = wrapTextWithAnsi(item.text.trim(), Math.max(1, width - 2 * left.length - 2))
  return [theme.dim(`${left}▾ ${title}`), ...lines.map((line) => theme.dim(`${left}  ${line}`))]
}

function drawCard({ title, text }: Extract<TerminalItem, { kind: 'card' }>, { width, theme }: ItemDrawing): string[] {
  const left = margin(width)
  const bar = `${left}${theme.accent('│')} `
  const room = Math.max(1, width - visibleWidth(bar) - left.length)
  const heading = title === '' || text.trimStart().startsWith(title) ? [] : wrapTextWithAnsi(theme.bold(title), room)
  // The lines of a card are laid out already; they are cut rather than broken.
  const lines = text.split('\n').flatMap((line) => (visibleWidth(line) > room ? wrapTextWithAnsi(line, room) : [line]))
  return indent([...heading, ...lines], bar, bar)
}

function drawBuild({ name, state, lines }: BuildItem, drawing: ItemDrawing): string[] {
  const { theme, width, isExpanded } = drawing
  const left = margin(width)
  const marks = { running: theme.accent('◐'), complete: theme.good('✓'), failed: theme.bad('✗') }
  const states = { running: 'is being built', complete: 'is built', failed: 'was not built' }
  const title = `${left}${marks[state]} ${theme.bold(name)} ${theme.dim(states[state])}`
  const shown = isExpanded ? lines : lines.slice(-recentLines)
  const room = Math.max(1, width - 2 * left.length - 4)
  return [
    title,
    ...shown.flatMap(({ tone, text }) =>
      wrapTextWithAnsi(text, room).map((line) => `${left}  ${theme.dim('│')} ${toned(theme, tone)(line)}`),
    ),
  ]
}

/** The transcript, oldest first. Finished entries are drawn once for each width. */
function createTranscript(options: {
  theme: TerminalTheme
  conversation: () => TerminalConversation
  view: () => ChatView
  now: () => number
}): Component {
  const { theme, conversation, view, now } = options
  const drawn = new WeakMap<TerminalItem, { component: Component; look: string }>()

  function componentOf(item: TerminalItem, isExpanded: boolean): Component {
    const { showsThinking } = view()
    const look = `${showsThinking && item.kind === 'thinking'} ${isExpanded}`
    const known = drawn.get(item)
    if (known?.look === look) {
      if (isMoving(item)) known.component.invalidate()
      return known.component
    }
    const component = safeComponent((width) => drawItem(item, { width, theme, showsThinking, isExpanded, now: now() }))
    drawn.set(item, { component, look })
    return component
  }

  return {
    render(width) {
      const { items } = conversation()
      const { openCalls } = view()
      const newest = items.findLastIndex(isWork)
      const lines: string[] = []
      for (const [place, item] of items.entries()) {
        const isExpanded = openCalls === 'all' || (openCalls === 'newest' && place === newest)
        lines.push(...Array<string>(gapBetween(items[place - 1], item)).fill(''))
        for (const line of componentOf(item, isExpanded).render(width)) lines.push(line)
      }
      return lines
    },
    invalidate() {
      for (const item of conversation().items) drawn.get(item)?.component.invalidate()
    },
  }
}

function isWork(item: TerminalItem): boolean {
  return item.kind === 'call' || item.kind === 'build'
}

/** Its time is shown, and passes. */
function isMoving(item: TerminalItem): boolean {
  return (item.kind === 'call' && !item.outcome) || (item.kind === 'thinking' && item.tookMs === undefined)
}
