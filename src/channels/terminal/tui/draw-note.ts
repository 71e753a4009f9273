import { wrapTextWithAnsi } from '@earendil-works/pi-tui'
import { displayWidth } from '../../../base/display-width.ts'
import type { Tone } from './conversation.ts'
import { type Drawing, indent, margin, toned } from './drawing.ts'

/** Something said aside: what Familiar did by itself, or what a command answered. */
export function drawNote(tone: Tone, text: string, { width, theme }: Drawing): string[] {
  const left = margin(width)
  const room = Math.max(1, width - 2 * left.length - 2)
  const lines = text.split('\n').flatMap((line) => wrapColumns(line, room))
  return indent(lines, `${left}· `, `${left}  `).map(toned(theme, tone))
}

/** A line that is laid out in two columns keeps them: what does not fit goes on below its own column. */
export function wrapColumns(line: string, room: number): string[] {
  const [, first = '', second = ''] = /^(\s*\S.*?\s{2,})(\S.*)$/.exec(line) ?? []
  const column = displayWidth(first)
  if (first === '' || column + displayWidth(second) <= room) return wrapTextWithAnsi(line, room)
  if (column + 16 <= room) return indent(wrapTextWithAnsi(second, room - column), first, ' '.repeat(column))
  const step = Math.min(4, room - 1)
  const below = indent(wrapTextWithAnsi(second, Math.max(1, room - step)), ' '.repeat(step), ' '.repeat(step))
  return [...wrapTextWithAnsi(first.trimEnd(), room), ...below]
}
