import { type KeyboardEvent, type RefObject, useCallback, useEffect, useState } from 'react'
import type { CompleteCommandReply } from '../../../src/protocol/command-api.ts'
import type { FinderReply } from '../../../src/protocol/finder-api.ts'
import { ask } from '../api/ask.ts'

interface Suggestion {
  /** What is put in. */
  text: string
  label: string
  detail?: string
}

export interface Suggestions {
  isOpen: boolean
  entries: readonly Suggestion[]
  active: number
  choose(index: number): void
  close(): void
  /** True where the key was for the list. */
  onKeyDown(event: KeyboardEvent): boolean
  onSelect(): void
}

/** What stands before the cursor and asks for help: `/command …`, `@file`, `@@block`. */
interface Wanted {
  kind: 'command' | 'file' | 'block'
  start: number
  query: string
}

/** What may come next while somebody types: commands, files, blocks. */
export function useSuggestions(options: {
  text: string
  area: RefObject<HTMLTextAreaElement | null>
  sessionId: string | null
  onChange(text: string): void
}): Suggestions {
  const { text, area, sessionId, onChange } = options
  const [place, setPlace] = useState(0)
  const [dismissed, setDismissed] = useState<string>()
  const [found, setFound] = useState<{ start: number; entries: Suggestion[] }>({ start: 0, entries: [] })
  const [active, setActive] = useState(0)
  const wanted = wantedAt(text, place)
  const key = wanted ? `${wanted.kind}:${wanted.start}:${wanted.query}` : ''

  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says all of what is wanted.
  useEffect(() => {
    if (!wanted || dismissed === key) return setFound({ start: 0, entries: [] })
    const controller = new AbortController()
    const timer = setTimeout(() => {
      suggest(wanted, sessionId, controller.signal).then(
        (next) => {
          setFound(next)
          setActive(0)
        },
        () => setFound({ start: 0, entries: [] }),
      )
    }, 60)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [key, dismissed, sessionId])

  const isOpen = found.entries.length > 0 && wanted !== undefined && dismissed !== key
  const close = useCallback(() => setDismissed(key), [key])

  function choose(index: number): void {
    const entry = found.entries[index]
    if (!entry) return
    const before = text.slice(0, found.start) + entry.text
    const gap = text.slice(place).startsWith(' ') ? '' : ' '
    onChange(before + gap + text.slice(place))
    requestAnimationFrame(() => {
      area.current?.setSelectionRange(before.length + 1, before.length + 1)
      area.current?.focus()
    })
  }

  function onKeyDown(event: KeyboardEvent): boolean {
    if (!isOpen) return false
    const count = found.entries.length
    if (event.key === 'ArrowDown') setActive((active + 1) % count)
    else if (event.key === 'ArrowUp') setActive((active + count - 1) % count)
    else if (event.key === 'Tab' || (event.key === 'Enter' && !isTypedOut(found.entries[active], wanted)))
      choose(active)
    else if (event.key === 'Escape') close()
    else return false
    event.preventDefault()
    return true
  }

  const onSelect = useCallback(() => setPlace(area.current?.selectionStart ?? 0), [area])
  return { isOpen, entries: found.entries, active, choose, close, onKeyDown, onSelect }
}

/** Enter sends what is typed out already. */
function isTypedOut(entry: Suggestion | undefined, wanted: Wanted | undefined): boolean {
  return entry !== undefined && wanted?.kind === 'command' && wanted.query.trim() === entry.text.trim()
}

export function wantedAt(text: string, place: number): Wanted | undefined {
  const before = text.slice(0, place)
  if (/^\/(?!\/)[^\n]*$/.test(before)) return { kind: 'command', start: 0, query: before }
  const match = /(?:^|\s)(@@?)([^\s@]{0,100})$/.exec(before)
  if (!match) return undefined
  const [, marks = '@', query = ''] = match
  return { kind: marks === '@@' ? 'block' : 'file', start: before.length - query.length - marks.length, query }
}

async function suggest(wanted: Wanted, sessionId: string | null, signal: AbortSignal) {
  if (wanted.kind === 'command') {
    const { start, candidates } = await ask<CompleteCommandReply>('/commands/complete', {
      query: { line: wanted.query, session: sessionId ?? undefined },
      signal,
    })
    const entries = candidates.map(({ text, summary }) => ({ text, label: text, ...(summary && { detail: summary }) }))
    return { start, entries }
  }
  const { found } = await ask<FinderReply>('/finder', {
    query: { kind: wanted.kind, query: wanted.query, limit: 12 },
    signal,
  })
  return { start: wanted.start, entries: found.map(({ name, reference }) => ({ text: reference, label: name })) }
}
