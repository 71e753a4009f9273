import { Dialog } from 'radix-ui'
import { type KeyboardEvent, useCallback, useId, useMemo, useRef, useState } from 'react'
import { Icon } from '../components/icon.tsx'
import { usePlace } from '../shell/router.ts'
import { useSlashCommands } from '../talk/use-slash-commands.tsx'
import { findEntries } from './palette-entry.ts'
import { PaletteList } from './palette-list.tsx'
import { usePaletteEntries } from './use-palette-entries.ts'

/** One field for everything. What begins with a slash is a command, which runs in the conversation that is open. */
export function Palette({ onClose }: { onClose(): void }) {
  const { path } = usePlace()
  const sessionId = /^\/talk\/([\w-]+)$/.exec(path)?.[1] ?? null
  const commands = useSlashCommands({ sessionId })
  const listId = useId()
  const [query, setQuery] = useState('')
  const [active, setActive] = useState(0)
  const hasChosen = useRef(false)

  const onCommand = useCallback(
    (line: string, takesMore: boolean) => {
      setQuery(takesMore ? `${line} ` : line)
      if (!takesMore) void commands.run(line)
    },
    [commands.run],
  )
  const entries = usePaletteEntries(onCommand)
  const isLine = /^\/\S+\s/.test(query)
  const found = useMemo(() => (isLine ? [] : findEntries(entries, query)), [entries, query, isLine])
  const chosen = Math.min(active, Math.max(found.length - 1, 0))

  function choose(index: number): void {
    const entry = found[index]
    if (!entry) return
    // A command shows its answer here, or waits for the rest of the line.
    if (entry.group !== 'Commands') {
      hasChosen.current = true
      onClose()
    }
    entry.run()
  }

  function onKeyDown(event: KeyboardEvent): void {
    if (event.nativeEvent.isComposing) return
    const last = Math.max(found.length - 1, 0)
    if (event.key === 'ArrowDown') setActive(chosen === last ? 0 : chosen + 1)
    else if (event.key === 'ArrowUp') setActive(chosen === 0 ? last : chosen - 1)
    else if (event.key === 'Enter' && isLine) void commands.run(query.trim())
    else if (event.key === 'Enter') choose(chosen)
    else return
    event.preventDefault()
  }

  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Dialog.Portal>
        {/* Not the primitive's own, which writes a style sheet into the page: the policy forbids that. */}
        <div aria-hidden="true" className="fixed inset-0 z-40 bg-black/40" />
        <Dialog.Content
          aria-describedby={undefined}
          onCloseAutoFocus={(event) => {
            // Where it was before is another place by now.
            if (!hasChosen.current) return
            event.preventDefault()
            document.getElementById('main')?.focus()
          }}
          className="fixed top-[10vh] left-1/2 z-50 flex max-h-[76vh] w-[min(38rem,calc(100vw-1.5rem))] -translate-x-1/2 flex-col overflow-hidden rounded-2xl border border-line bg-raised shadow-xl"
        >
          <Dialog.Title className="sr-only">Find anything</Dialog.Title>
          <div className="flex items-center gap-2.5 border-b border-line px-4 text-soft">
            <Icon name="search" />
            <input
              type="text"
              role="combobox"
              aria-label="Find anything"
              aria-expanded={found.length > 0}
              aria-controls={listId}
              aria-autocomplete="list"
              aria-activedescendant={found[chosen] ? `${listId}-${chosen}` : undefined}
              autoComplete="off"
              spellCheck={false}
              placeholder="Go to a screen, a conversation, or run a /command"
              className="min-h-12 flex-1 bg-transparent text-ink outline-none placeholder:text-soft"
              value={query}
              onChange={(event) => {
                setQuery(event.target.value)
                setActive(0)
              }}
              onKeyDown={onKeyDown}
            />
          </div>
          <div className="min-h-0 overflow-y-auto p-2">
            {commands.view}
            {isLine && (
              <p className="px-2 py-1 text-sm text-soft">
                Enter runs it{sessionId === null ? '' : ' in this conversation'}.
              </p>
            )}
            <PaletteList id={listId} entries={found} active={chosen} onChoose={choose} />
            {found.length === 0 && !isLine && <p className="px-2 py-6 text-center text-soft">Nothing fits.</p>}
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
