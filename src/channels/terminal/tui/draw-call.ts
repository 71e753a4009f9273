import { truncateToWidth, visibleWidth, wrapTextWithAnsi } from '@earendil-works/pi-tui'
import type { Json } from '../../../protocol/json.ts'
import type { CallItem } from './conversation.ts'
import { type Drawing, margin } from './drawing.ts'
import type { Theme } from './theme.ts'

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const frameMs = 100
const shownLines = 200

/** A call of a tool: one line with what tells the most, and all of it when opened. */
export function drawCall(call: CallItem, drawing: Drawing): string[] {
  const { theme, width, isExpanded, now } = drawing
  const { outcome } = call
  const left = margin(width)
  const elapsed = outcome?.tookMs ?? Math.max(0, now - call.startedAt)
  const mark = markOf(call, theme, elapsed)
  const time = call.waits ? 'waits for your word' : formatTook(elapsed)
  const name = call.name
  const room = width - 2 * left.length - 2 - visibleWidth(name) - visibleWidth(time) - 4
  const told = room < 6 ? '' : truncateToWidth(oneLine(outcome ? tellingInput(call.input) : activity(call)), room, '…')
  const title = `${left}${mark} ${name}${told === '' ? '' : ` ${theme.dim(told)}`}${theme.dim(` · ${time}`)}`
  if (isExpanded) return [title, ...details(call, drawing)]
  if (!outcome?.isError || call.waits) return [title]
  // What went wrong is worth a line, opened or not.
  const reason = truncateToWidth(oneLine(outcome.result), Math.max(1, width - 2 * left.length - 4), '…')
  return [title, `${left}  ${theme.bad(reason)}`]
}

function markOf({ outcome, waits }: CallItem, theme: Theme, elapsed: number): string {
  if (waits) return theme.warning('?')
  if (outcome) return outcome.isError ? theme.bad('✗') : theme.good('✓')
  return theme.accent(frames[Math.floor(elapsed / frameMs) % frames.length] ?? '·')
}

function activity(call: CallItem): string {
  return call.progress ?? tellingInput(call.input)
}

function details({ input, outcome }: CallItem, { theme, width }: Drawing): string[] {
  const left = margin(width)
  const room = Math.max(1, width - 2 * left.length - 4)
  const given = input === null ? '' : JSON.stringify(input, null, 1)
  const result = outcome?.result.trimEnd() ?? ''
  const lines = [
    ...(given === '' ? [] : wrapTextWithAnsi(given.replace(/\n\s*/g, ' '), room).map(theme.dim)),
    ...(result === '' ? [] : wrapTextWithAnsi(result.replaceAll('\t', '  '), room)),
  ]
  const hidden = lines.length - shownLines
  const shown = hidden > 0 ? [...lines.slice(0, shownLines), theme.dim(`… ${hidden} more lines`)] : lines
  return shown.map((line) => `${left}  ${theme.dim('│')} ${line}`)
}

/** The one argument that tells the most, which is nearly always the first text. */
function tellingInput(input: Json): string {
  if (typeof input !== 'object' || input === null) return ''
  return Object.values(input).find((value) => typeof value === 'string') ?? ''
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim()
}

export function formatTook(milliseconds: number): string {
  if (milliseconds < 60_000) return `${(milliseconds / 1_000).toFixed(1)} s`
  return `${Math.floor(milliseconds / 60_000)} min ${Math.floor((milliseconds % 60_000) / 1_000)} s`
}
