import { type Component, decodeKittyPrintable, matchesKey } from '@earendil-works/pi-tui'
import { safeLines } from './safe-component.ts'
import type { Theme } from './theme.ts'

/** A line whose characters are never shown, kept or put into the history. */
export function createSecretInput(options: {
  theme: Theme
  name: string
  onDone: (value: string | undefined) => void
}): Component & { handleInput(data: string): void } {
  const { theme, name, onDone } = options
  let value = ''
  return {
    handleInput(data) {
      if (matchesKey(data, 'escape') || matchesKey(data, 'ctrl+c')) return onDone(undefined)
      if (matchesKey(data, 'enter')) return onDone(value.trim() === '' ? undefined : value.trim())
      if (matchesKey(data, 'backspace')) value = value.slice(0, -1)
      else if (matchesKey(data, 'ctrl+u')) value = ''
      else {
        const typed = pasted(data) ?? decodeKittyPrintable(data) ?? data
        if (!/\p{Cc}/u.test(typed)) value += typed
      }
    },
    render(width) {
      const rule = theme.dim('─'.repeat(width))
      // Not even its length: that alone would tell much of a short one.
      const dots = value === '' ? '' : '••••••••'
      return safeLines([rule, ` ${theme.dim(name)} ${dots}\u001b[7m \u001b[0m`, rule], width)
    },
    invalidate() {},
  }
}

/** What stands between the marks of a paste, without the end of its line. */
export function pasted(data: string): string | undefined {
  if (!data.startsWith('\u001b[200~')) return undefined
  return data
    .slice('\u001b[200~'.length)
    .replace('\u001b[201~', '')
    .replace(/\r?\n$/, '')
}
