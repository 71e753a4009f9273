import type { AutocompleteItem, AutocompleteProvider } from '@earendil-works/pi-tui'
import { displayable } from './conversation.ts'

/** Completions while the user types. A failure offers none. */
export interface Offers {
  /** Completions from `start` on in a line that starts with a slash. */
  complete(line: string): Promise<{ start: number; candidates: readonly CompletionOffer[] }>
  find(kind: 'file' | 'block', query: string, signal: AbortSignal): Promise<readonly CompletionOffer[]>
}

export interface CompletionOffer {
  text: string
  /** Shown in place of the text. */
  label?: string | undefined
  summary?: string | undefined
}

interface Place {
  before: string
  after: string
}

/** `@` offers files, `@@` blocks, and a slash at the beginning offers commands and what they take. */
export function createCompletion(offers: Offers): AutocompleteProvider {
  /** The text that the list was made for: a user who types faster has not chosen from it. */
  let offeredFor: string | undefined

  function suggestions(found: readonly CompletionOffer[], before: string, prefix: string) {
    offeredFor = before
    return found.length === 0 ? null : { items: found.map(toItem), prefix }
  }

  return {
    async getSuggestions(lines, cursorLine, cursorCol, { signal }) {
      const { before } = placeOf(lines, cursorLine, cursorCol)
      try {
        if (cursorLine === 0 && before.startsWith('/') && !before.startsWith('//')) {
          const { start, candidates } = await offers.complete(before)
          return suggestions(candidates, before, before.slice(start))
        }
        const reference = referenceIn(before)
        if (!reference) return null
        const found = await offers.find(reference.kind, reference.query, signal)
        return suggestions(found, before, reference.text)
      } catch {
        return null
      }
    },
    applyCompletion(lines, cursorLine, cursorCol, item, prefix) {
      const { before, after } = placeOf(lines, cursorLine, cursorCol)
      if (before !== offeredFor) return { lines, cursorLine, cursorCol }
      // A folder can be completed further; anything else is final.
      const end = /[/\s]$/.test(item.value) || after.startsWith(' ') ? '' : ' '
      const completed = before.slice(0, before.length - prefix.length) + item.value + end
      return {
        lines: lines.with(cursorLine, completed + after),
        cursorLine,
        cursorCol: completed.length,
      }
    },
    shouldTriggerFileCompletion: (lines, cursorLine, cursorCol) => {
      const { before } = placeOf(lines, cursorLine, cursorCol)
      return before.startsWith('/') || referenceIn(before) !== undefined
    },
  }
}

/** The `@name` or `@@name` that the cursor stands at the end of. */
export function referenceIn(before: string): { kind: 'file' | 'block'; query: string; text: string } | undefined {
  const found = /(?:^|[\s(])(@@?)("[^"]*|[^\s"]*)$/u.exec(before)
  if (!found) return undefined
  const [, mark = '', name = ''] = found
  return { kind: mark === '@@' ? 'block' : 'file', query: name.replace(/^"/, ''), text: mark + name }
}

function placeOf(lines: readonly string[], cursorLine: number, cursorCol: number): Place {
  const line = lines[cursorLine] ?? ''
  return { before: line.slice(0, cursorCol), after: line.slice(cursorCol) }
}

/** The value is typed for the user and sent; only what is shown is changed. */
function toItem({ text, label, summary }: CompletionOffer): AutocompleteItem {
  const shown = displayable(label ?? text)
  return { value: text, label: shown, ...(summary !== undefined && { description: displayable(summary) }) }
}
