import { Dialog } from 'radix-ui'
import { type KeyboardEvent, type ReactNode, useCallback, useId, useMemo, useRef, useState } from 'react'
import type { FoundReply } from '../../../src/protocol/search.ts'
import { useAnswer } from '../api/call.ts'
import { focusComposer } from '../chat/composer.tsx'
import { addressOf, addressOfSetting, kindIcons, labelledSettings, Marked, useFound } from '../chat/find.tsx'
import { useSessions } from '../chat/sessions.ts'
import { useSlashCommands } from '../chat/suggestions.tsx'
import { classes } from '../components/controls.tsx'
import { useToasts } from '../components/feedback.tsx'
import { Icon, type IconName } from '../components/icon.tsx'
import { signOut, useWho } from '../shell/account.tsx'
import { go, usePlace } from '../shell/router.tsx'
import { destinations, screens } from '../shell/screens.tsx'
import { chooseTheme } from '../shell/theme.tsx'
import { t } from '../strings/strings.ts'
import { showFoundFile, showOverPage } from './shortcuts.ts'

interface Match {
  /** The more, the better. */
  score: number
  /** The characters that fit, in order. */
  places: number[]
}

const wordStart = /[\p{L}\p{N}]/u

/**
 * Whether all characters of the query are in the text in their order. Each word is searched separately, so
 * that their order does not matter. Starts of words and adjacent characters count for more.
 */
export function fuzzyMatch(query: string, text: string): Match | undefined {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const found = words.map((word) => matchWord(word, text.toLowerCase()))
  if (!found.every((match) => match !== undefined)) return undefined
  return {
    score: found.reduce((sum, { score }) => sum + score, 0) - text.length / 100,
    places: [...new Set(found.flatMap(({ places }) => places))].sort((a, b) => a - b),
  }
}

function matchWord(word: string, text: string): Match | undefined {
  const whole = wholeWord(word, text)
  if (whole !== undefined) {
    const places = Array.from({ length: word.length }, (_, index) => whole + index)
    return { score: word.length * 3 + (isStart(text, whole) ? 5 : 0) + (whole === 0 ? 3 : 0), places }
  }
  // A match in pieces has to start at a word: otherwise nearly everything matches.
  const [first = ''] = word
  for (let start = text.indexOf(first); start !== -1; start = text.indexOf(first, start + 1)) {
    const match = isStart(text, start) ? matchPieces(word, text, start) : undefined
    if (match) return match
  }
  return undefined
}

function matchPieces(word: string, text: string, start: number): Match | undefined {
  const places: number[] = []
  let score = 0
  let from = start
  for (const character of word) {
    const at = text.indexOf(character, from)
    if (at === -1) return undefined
    score += at === from && places.length > 0 ? 2 : isStart(text, at) ? 1.5 : 0.5
    places.push(at)
    from = at + 1
  }
  return { score, places }
}

/** The position of the whole query in the text, best at the start of a word. */
function wholeWord(word: string, text: string): number | undefined {
  let first: number | undefined
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, at + 1)) {
    if (isStart(text, at)) return at
    first ??= at
  }
  return first
}

function isStart(text: string, at: number): boolean {
  return at === 0 || !wordStart.test(text[at - 1] ?? '')
}

export interface PaletteEntry {
  id: string
  group: string
  label: string
  detail?: string
  icon: IconName
  /** Other words under which it is found. */
  words?: string
  /** In place of the detail: the line around the words that were found. */
  snippet?: FoundReply['snippet']
  /** Its detail is not searched here: the daemon searches the whole text. */
  isByTitle?: boolean
  /** Of a conversation or setting: results of the daemon with the same address are left out. */
  href?: string
  run(): void
}

interface FoundEntry extends PaletteEntry {
  /** The characters of the label that fit. */
  places: readonly number[]
}

const perGroup = 6
const inAll = 24

/** The headings of the groups; another group is its own. */
const groupNames: Readonly<Record<string, string>> = {
  Actions: t.palette.actions,
  Conversations: t.common.conversations,
  Screens: t.palette.screens,
  Commands: t.palette.commands,
  Blocks: t.shell.notes,
  Capabilities: t.common.builtTools,
}

/** The best of each group, the groups by their best. Without a query they stay in their order. */
export function findEntries(entries: readonly PaletteEntry[], query: string): FoundEntry[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const found = entries.flatMap((entry) => {
    const match = fuzzyMatch(query, entry.label)
    if (match) return [{ ...entry, places: match.places, score: match.score }]
    return !entry.isByTitle && isAbout(entry, words) ? [{ ...entry, places: [], score: 0 }] : []
  })
  if (words.length > 0) found.sort((one, other) => other.score - one.score)
  const groups = Map.groupBy(found, ({ group }) => group)
  return [...groups.values()].flatMap((members) => members.slice(0, perGroup)).slice(0, inAll)
}

/** The description contains all words. */
function isAbout({ label, detail, words: others }: PaletteEntry, words: readonly string[]): boolean {
  const text = [label, detail, others].filter(Boolean).join(' ').toLowerCase()
  return words.every((word) => text.includes(word))
}

interface PaletteListProps {
  id: string
  entries: readonly FoundEntry[]
  active: number
  onChoose(index: number): void
}

function PaletteList({ id, entries, active, onChoose }: PaletteListProps) {
  return (
    <div id={id} role="listbox" aria-label={t.palette.results}>
      {entries.map((entry, index) => {
        const { group, label, detail, icon, places, snippet } = entry
        const isActive = index === active
        return (
          <div key={entry.id} role="presentation">
            {entries[index - 1]?.group !== group && (
              <p role="presentation" className="px-2 pt-2 pb-1 text-xs font-medium text-soft">
                {groupNames[group] ?? group}
              </p>
            )}
            {/* biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the field that has the focus. */}
            <div
              id={`${id}-${index}`}
              role="option"
              tabIndex={-1}
              aria-selected={isActive}
              onClick={() => onChoose(index)}
              ref={(element) => {
                if (isActive) element?.scrollIntoView({ block: 'nearest' })
              }}
              className={classes(
                'flex min-h-10 cursor-pointer items-center gap-2.5 rounded-lg px-2 text-sm hover:bg-sunken',
                isActive && 'bg-accent-soft',
              )}
            >
              <span className="text-soft">
                <Icon name={icon} size={16} />
              </span>
              {snippet?.text ? (
                <span className="min-w-0 flex-1 py-1.5">
                  {label && <span className="block truncate text-xs text-soft">{label}</span>}
                  <span className="line-clamp-2" dir="auto">
                    <Marked {...snippet} />
                  </span>
                </span>
              ) : (
                <>
                  <span dir="auto" className={classes('truncate', detail && 'max-w-[60%] shrink-0')}>
                    {marked(label, places)}
                  </span>
                  {detail && (
                    <span dir="auto" className="min-w-0 flex-1 truncate text-soft">
                      {detail}
                    </span>
                  )}
                </>
              )}
            </div>
          </div>
        )
      })}
    </div>
  )
}

/** Highlights the matching characters. */
function marked(label: string, places: readonly number[]): ReactNode {
  if (places.length === 0) return label
  const fits = new Set(places)
  // biome-ignore lint/suspicious/noArrayIndexKey: characters have no other name.
  return [...label].map((character, index) => (fits.has(index) ? <b key={index}>{character}</b> : character))
}

const actions: readonly Omit<PaletteEntry, 'id' | 'group'>[] = [
  { label: t.palette.newConversation, icon: 'plus', run: () => go('/') },
  { label: t.palette.newSchedule, icon: 'calendar', words: 'remind', run: () => go('/schedules/new') },
  { label: t.palette.keyboardShortcuts, icon: 'bolt', words: t.palette.helpKeys, run: () => showOverPage('keys') },
  { label: t.palette.lightTheme, icon: 'sun', words: t.palette.themeWords, run: () => chooseTheme('light') },
  { label: t.palette.darkTheme, icon: 'moon', words: t.palette.themeWords, run: () => chooseTheme('dark') },
  { label: t.palette.systemTheme, icon: 'gauge', words: t.palette.themeWords, run: () => chooseTheme('system') },
]

/** All screens and actions. A command is passed to `onCommand` as typed. */
function usePaletteEntries(onCommand: (line: string, takesMore: boolean) => void): PaletteEntry[] {
  const toasts = useToasts()
  const { is_owner } = useWho()
  const sessions = useSessions()
  const commands = useAnswer('commands.list', {}).data?.commands

  return useMemo(() => {
    const to = (path: string) => () => go(path)
    const groups: Record<string, Omit<PaletteEntry, 'id' | 'group'>[]> = {
      Actions: [
        ...actions,
        {
          label: t.palette.signOut,
          icon: 'lock',
          words: t.palette.leaveLogOut,
          run: () => void signOut().catch(toasts.failed),
        },
      ],
      Conversations: sessions.map(({ id, title, contact, preview, state }) => ({
        label: title ?? contact,
        detail: [state === 'archived' && t.chat.archivedLower, preview].filter(Boolean).join(' · '),
        icon: 'talk',
        isByTitle: true,
        href: `/talk/${id}`,
        run: to(`/talk/${id}`),
      })),
      Screens: [
        { label: t.palette.chat, icon: 'talk', run: to('/') },
        ...screens
          .filter((screen) => is_owner || !screen.isOwners)
          .map(({ path, label, icon, destination }) => ({
            label,
            // A section is found under the name of its destination, too.
            words: destinations.find(({ name }) => name === destination)?.label ?? '',
            icon,
            run: to(path),
          })),
      ],
      Commands: (commands ?? []).map(({ name, usage, summary }) => ({
        label: `/${name}`,
        detail: summary,
        icon: 'send',
        run: () => onCommand(`/${name}`, usage.trim().includes(' ')),
      })),
      [t.find.kinds.setting]: is_owner
        ? labelledSettings.map(({ key, label }) => ({
            label,
            words: key.replaceAll(/[._]/g, ' '),
            icon: 'gear',
            href: addressOfSetting(key),
            run: to(addressOfSetting(key)),
          }))
        : [],
    }
    return Object.entries(groups).flatMap(([group, entries]) =>
      entries.map((entry, index) => ({ ...entry, group, id: `${group}-${index}` })),
    )
  }, [toasts, is_owner, sessions, commands, onCommand])
}

const resultsPerKind = 5

/** A result of the daemon as an entry; nothing where the page has found the same by itself. */
function resultEntry(found: FoundReply, own: readonly FoundEntry[]): FoundEntry[] {
  const { kind, id, title, snippet, message } = found
  const href = addressOf(found)
  const group = t.find.kinds[kind]
  if (kind === 'conversation' && own.some((entry) => entry.href === href)) return []
  if (kind === 'setting' && own.some((entry) => entry.href === href)) return []
  return [
    {
      id: `${kind} ${id} ${message?.id ?? message?.turn ?? ''}`,
      group,
      label: title,
      icon: kindIcons[kind],
      snippet,
      places: [],
      ...(href !== undefined && { href }),
      run: () => (href === undefined ? showFoundFile(found) : go(href)),
    },
  ]
}

/** One field for everything. Text with a slash is a command, which runs in the open conversation. */
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
  const { found: results, isSearching } = useFound(isLine ? '' : query, { limit: resultsPerKind })
  const found = useMemo(() => {
    if (isLine) return []
    const own = findEntries(
      // Without a query, a list of all settings would only be in the way.
      query.trim() === '' ? entries.filter(({ group }) => group !== t.find.kinds.setting) : entries,
      query,
    )
    return [...own, ...results.flatMap((one) => resultEntry(one, own))]
  }, [entries, results, query, isLine])
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
            // The list may have changed, so the old position is wrong.
            if (!hasChosen.current) return
            event.preventDefault()
            if (!focusComposer()) document.getElementById('main')?.focus()
          }}
          className="fixed inset-x-0 top-[10vh] z-50 mx-auto flex max-h-[76vh] w-[min(38rem,calc(100vw-1.5rem))] flex-col overflow-hidden rounded-2xl border border-line bg-raised shadow-xl"
        >
          <Dialog.Title className="sr-only">{t.palette.quickSearch}</Dialog.Title>
          <div className="flex items-center gap-2.5 border-b border-line px-4 text-soft">
            <Icon name="search" />
            <input
              type="text"
              role="combobox"
              aria-label={t.palette.quickSearch}
              aria-expanded={found.length > 0}
              aria-controls={listId}
              aria-autocomplete="list"
              aria-activedescendant={found[chosen] ? `${listId}-${chosen}` : undefined}
              autoComplete="off"
              spellCheck={false}
              placeholder={t.palette.searchScreensConversationsType}
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
                {t.palette.pressEnterRun}
                {sessionId === null ? '' : t.palette.inThisConversation}.
              </p>
            )}
            <PaletteList id={listId} entries={found} active={chosen} onChoose={choose} />
            {found.length === 0 && !isLine && (
              <p className="px-2 py-6 text-center text-soft">{isSearching ? t.find.searching : t.common.noResults}</p>
            )}
          </div>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
