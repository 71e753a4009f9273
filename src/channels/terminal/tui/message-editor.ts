import { Editor, type TUI } from '@earendil-works/pi-tui'
import { safeLines } from './safe-component.ts'
import type { Theme } from './theme.ts'

/** How the library writes a paste of many lines. */
const pasteMark = /\[paste #\d+ (?:\+(\d+) lines|(\d+) chars)\]/g

/** Where the user writes. A long paste stands there as one word and is sent whole. */
export class MessageEditor extends Editor {
  /** The text of the submit under way as it stood on the screen. */
  private typed = ''

  constructor(tui: TUI, theme: Theme) {
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
