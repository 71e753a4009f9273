import { type Component, decodeKittyPrintable, matchesKey, truncateToWidth } from '@earendil-works/pi-tui'
import { safeLines } from './safe-component.ts'
import type { Theme } from './theme.ts'

const shownMatches = 6

/** The search through what was typed before: type to narrow, Ctrl-R goes further back, Enter takes it, Esc leaves. */
export interface HistorySearch extends Component {
  handleInput(data: string): void
}

export function createHistorySearch(options: {
  theme: Theme
  /** The newest first. */
  entries: readonly string[]
  onDone: (chosen: string | undefined) => void
}): HistorySearch {
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
    handleInput(data) {
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
    render(width) {
      const first = Math.max(0, Math.min(chosen - shownMatches + 1, found.length - shownMatches))
      const lines = found.slice(first, first + shownMatches).map((entry, place) => {
        const line = truncateToWidth(entry.replace(/\s+/g, ' '), Math.max(1, width - 4), '…')
        return first + place === chosen ? theme.accent(` › ${line}`) : theme.dim(`   ${line}`)
      })
      const none = theme.dim(entries.length === 0 ? '   nothing was typed yet' : '   nothing like that was typed')
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
