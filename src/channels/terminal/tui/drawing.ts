import type { Tone } from './conversation.ts'
import type { Theme } from './theme.ts'

/** What the user wants to see of what is folded. */
export interface View {
  showsThinking: boolean
  openCalls: 'none' | 'newest' | 'all'
}

export interface Drawing {
  width: number
  theme: Theme
  showsThinking: boolean
  /** This item's own details are open. */
  isExpanded: boolean
  now: number
}

/** Where there is room, everything but the user's words stands a little to the right. */
export function margin(width: number): string {
  return width >= 50 ? '  ' : ''
}

export function toned(theme: Theme, tone: Tone): (text: string) => string {
  if (tone === 'plain') return (text) => text
  if (tone === 'quiet') return theme.dim
  return tone === 'warning' ? theme.warning : theme.bad
}

/** The text at most `width` wide, behind a first mark and a mark for each further line. */
export function indent(lines: readonly string[], first: string, rest: string): string[] {
  return lines.map((line, place) => (place === 0 ? first : rest) + line)
}
