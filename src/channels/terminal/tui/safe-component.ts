import { type Component, CURSOR_MARKER, truncateToWidth, visibleWidth } from '@earendil-works/pi-tui'
import { toDisplayText } from '../../../base/text.ts'

/** Colours and the like, the only sequences that a drawing may hold, and the mark of the cursor. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the sequences that are let through begin with one.
const allowed = /(\u001b\[[0-9;]*m|\u001b_pi:c\u0007)/

/**
 * The last door before the terminal (SEC-10): what is no style of ours is text and made harmless, and no line is wider
 * than the screen. A drawing that forgot itself is cut; the library would end the program for it.
 */
export function safeLines(lines: readonly string[], width: number): string[] {
  return lines.map((line) => {
    const safe = line
      .split(allowed)
      .map((part, place) => (place % 2 === 1 ? part : toDisplayText(part).replaceAll('\t', '  ').replaceAll('\n', ' ')))
      .join('')
    return visibleWidth(safe.replace(CURSOR_MARKER, '')) <= width ? safe : truncateToWidth(safe, width, '')
  })
}

/** A component of lines that are drawn anew for each width, and after `invalidate`. */
export function safeComponent(draw: (width: number) => readonly string[]): Component {
  let drawn: { width: number; lines: string[] } | undefined
  return {
    render(width) {
      if (drawn?.width !== width) drawn = { width, lines: safeLines(draw(width), width) }
      return drawn.lines
    },
    invalidate() {
      drawn = undefined
    },
  }
}
