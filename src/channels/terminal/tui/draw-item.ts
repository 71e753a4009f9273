import { Markdown, visibleWidth, wrapTextWithAnsi } from '@earendil-works/pi-tui'
import type { BuildItem, Item } from './conversation.ts'
import { drawCall } from './draw-call.ts'
import { drawNote } from './draw-note.ts'
import { type Drawing, indent, margin, toned } from './drawing.ts'

const longMessage = 12
const recentLines = 4
const longestParagraph = 8_000

/** One thing of the conversation as lines. Pure: the same item, width and view give the same lines. */
export function drawItem(item: Item, drawing: Drawing): string[] {
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
export function gapBetween(before: Item | undefined, item: Item): number {
  if (!before) return 0
  const isWork = (one: Item) => one.kind === 'call' || one.kind === 'note' || one.kind === 'thinking'
  return isWork(before) && isWork(item) ? 0 : 1
}

function drawUser(item: Extract<Item, { kind: 'user' }>, { width, theme, isExpanded }: Drawing): string[] {
  const from = item.from === undefined ? '' : theme.dim(`(${item.from}) `)
  const lines = wrapTextWithAnsi(from + item.text.replaceAll('\t', '  '), Math.max(1, width - 2))
  const hidden = isExpanded ? 0 : Math.max(0, lines.length - longMessage)
  const shown = hidden > 1 ? lines.slice(0, longMessage) : lines
  const more = hidden > 1 ? [theme.dim(`… ${hidden.toLocaleString('en-US')} more lines`)] : []
  return indent([...shown, ...more], theme.accent('› '), '  ')
}

/**
 * A paragraph that is too long for anybody to have written is shown as it is: parsing its emphasis takes time in the square
 * of its length, 23 seconds for 50 kB of `_a _a`.
 */
function drawMarkdown(text: string, { width, theme }: Drawing): string[] {
  const left = margin(width)
  const inner = Math.max(1, width - 2 * left.length)
  const isParsed = text.split('\n\n').every((paragraph) => paragraph.length <= longestParagraph)
  const lines = isParsed ? new Markdown(text, 0, 0, theme.markdown()).render(inner) : wrapTextWithAnsi(text, inner)
  return indent(
    lines.map((line) => line.trimEnd()),
    left,
    left,
  )
}

function drawThinking(item: Extract<Item, { kind: 'thinking' }>, drawing: Drawing): string[] {
  const { theme, width, showsThinking, now } = drawing
  const left = margin(width)
  const seconds = Math.round((item.tookMs ?? Math.max(0, now - item.startedAt)) / 1_000)
  const time = seconds > 0 ? ` ${seconds} s` : ''
  const title = item.tookMs === undefined ? `thinking${time}` : `thought${time ? ` for${time}` : ''}`
  if (!showsThinking) return [theme.dim(`${left}▸ ${title}`)]
  const lines = wrapTextWithAnsi(item.text.trim(), Math.max(1, width - 2 * left.length - 2))
  return [theme.dim(`${left}▾ ${title}`), ...lines.map((line) => theme.dim(`${left}  ${line}`))]
}

function drawCard({ title, text }: Extract<Item, { kind: 'card' }>, { width, theme }: Drawing): string[] {
  const left = margin(width)
  const bar = `${left}${theme.accent('│')} `
  const room = Math.max(1, width - visibleWidth(bar) - left.length)
  const heading = title === '' || text.trimStart().startsWith(title) ? [] : wrapTextWithAnsi(theme.bold(title), room)
  // The lines of a card are laid out already; they are cut rather than broken.
  const lines = text.split('\n').flatMap((line) => (visibleWidth(line) > room ? wrapTextWithAnsi(line, room) : [line]))
  return indent([...heading, ...lines], bar, bar)
}

function drawBuild({ name, state, lines }: BuildItem, drawing: Drawing): string[] {
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
