import { randomUUID } from 'node:crypto'
import { toDisplayText } from '../base/text.ts'

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan'

/** Styles inside text, to be made visible or dropped when it is known where the text goes. */
export interface Styles {
  style(style: Style, text: string): string
  /** The text made harmless, with colours or without. */
  render(text: string, colours: boolean): string
}

const codes: Record<Style, [on: number, off: number]> = {
  bold: [1, 22],
  dim: [2, 22],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  cyan: [36, 39],
}

export function createStyles(): Styles {
  // Known to nobody outside, so no text from a model, a page or a file can bring a style along.
  const mark = `<${randomUUID()}:`
  const marked = new RegExp(`(${mark}\\d+>)`)
  return {
    style: (style, text) => `${mark}${codes[style][0]}>${text}${mark}${codes[style][1]}>`,
    render(text, colours) {
      const parts = text.split(marked).map((part) => {
        if (!part.startsWith(mark)) return toDisplayText(part)
        return colours ? `\u001b[${part.slice(mark.length, -1)}m` : ''
      })
      return parts.join('')
    },
  }
}
