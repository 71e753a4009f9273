import { type KeyboardEvent, type ReactNode, type RefObject, useCallback, useEffect, useState } from 'react'
import type { RunCommandReply } from '../../../src/protocol/commands.ts'
import { call } from '../api/call.ts'
import { Button, classes, IconButton } from '../components/controls.tsx'
import { useToasts } from '../components/feedback.tsx'
import { Icon } from '../components/icon.tsx'
import { go } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { refreshSessions } from './sessions.ts'

interface Suggestion {
  /** The inserted text. */
  text: string
  label: string
  detail?: string
}

interface Suggestions {
  isOpen: boolean
  entries: readonly Suggestion[]
  active: number
  choose(index: number): void
  close(): void
  /** True where the key was for the list. */
  onKeyDown(event: KeyboardEvent): boolean
  onSelect(): void
}

/** The text before the cursor that gets suggestions: `/command …`, `@file`, `@@block`. */
interface Wanted {
  kind: 'command' | 'file' | 'block'
  start: number
  query: string
}

/** Suggestions while typing: commands, files, notes. */
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

/** Enter sends a command that is typed completely. */
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
    const { start, candidates } = await call(
      'commands.complete',
      { line: wanted.query, session: sessionId ?? undefined },
      { signal },
    )
    const entries = candidates.map(({ text, summary }) => ({ text, label: text, ...(summary && { detail: summary }) }))
    return { start, entries }
  }
  const { found } = await call('finder.find', { kind: wanted.kind, query: wanted.query, limit: 12 }, { signal })
  return { start: wanted.start, entries: found.map(({ name, reference }) => ({ text: reference, label: name })) }
}

export function SuggestionList({ id, suggestions }: { id: string; suggestions: Suggestions }) {
  const { isOpen, entries, active, choose } = suggestions
  return (
    <div
      id={id}
      role="listbox"
      aria-label={t.composer.suggestions}
      hidden={!isOpen}
      className="absolute inset-x-0 bottom-full z-10 mb-2 max-h-72 overflow-y-auto rounded-xl border border-line bg-raised p-1 shadow-lg"
    >
      {entries.map(({ text, label, detail }, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field that has the focus.
        <div
          key={`${text}-${label}`}
          id={`${id}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          onClick={() => choose(index)}
          ref={(element) => {
            if (index === active && isOpen) element?.scrollIntoView({ block: 'nearest' })
          }}
          className={classes('flex gap-3 rounded-lg px-2.5 py-1.5 text-sm', index === active && 'bg-sunken')}
        >
          <span className="shrink-0 font-mono">{label}</span>
          {detail && (
            <span dir="auto" className="min-w-0 truncate text-soft">
              {detail}
            </span>
          )}
        </div>
      ))}
    </div>
  )
}

/** Runs a slash command, and shows its output above the field until the next input. */
export function useSlashCommands({ sessionId }: { sessionId: string | null }): {
  run(line: string, confirm?: string): Promise<void>
  view: ReactNode
} {
  const toasts = useToasts()
  const [shown, setShown] = useState<{ line: string; reply: RunCommandReply; sessionId: string | null }>()

  async function run(line: string, confirm?: string): Promise<void> {
    try {
      const reply = await call('commands.run', { line, session: sessionId ?? undefined, confirm })
      const next = reply.goes_on_in === null ? sessionId : await idOf(reply.goes_on_in)
      setShown({ line, reply, sessionId: next })
      refreshSessions()
      if (next !== null && next !== sessionId) go(`/talk/${next}`)
    } catch (error) {
      toasts.failed(error)
    }
  }

  const text = shown?.reply.question?.text ?? shown?.reply.text ?? ''
  const view = shown?.sessionId === sessionId && (
    <section aria-label={shown.line} className="relative mb-2 rounded-xl border border-line bg-raised p-3 shadow-sm">
      <div className="flex items-start justify-between gap-2">
        <p className="font-mono text-xs text-soft">{shown.line}</p>
        <IconButton label={t.composer.close} className="size-7" onClick={() => setShown(undefined)}>
          <Icon name="close" size={14} />
        </IconButton>
      </div>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
        role="status"
        className={classes(
          'max-h-72 overflow-auto whitespace-pre-wrap',
          isTable(text) ? 'font-mono text-xs' : 'font-sans text-sm',
        )}
      >
        {text}
      </pre>
      {shown.reply.question && (
        <div className="mt-2 flex gap-2">
          <Button kind="main" onClick={() => void run(shown.line, shown.reply.question?.confirm)}>
            {t.composer.yes}
          </Button>
          <Button onClick={() => setShown(undefined)}>{t.composer.no}</Button>
        </div>
      )}
    </section>
  )
  return { run, view }
}

/** Columns that are aligned with spaces need a monospaced font. */
function isTable(text: string): boolean {
  return /\S(?: {2,}|\t)\S|^(?: {2,}|\t)\S|[│─┌├└]|^ {0,3}\|.*\|\s*$|^```/m.test(text)
}

/** Commands name a session by its contact or id. */
async function idOf(nameOrId: string): Promise<string> {
  const { session_id } = await call('sessions.history', { id: nameOrId, limit: 1 })
  return session_id
}
