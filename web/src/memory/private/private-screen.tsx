import { type FormEvent, useEffect, useId, useRef, useState } from 'react'
import { Button, IconButton, Menu } from '../../components/controls.tsx'
import { Empty, Failure, useToasts } from '../../components/feedback.tsx'
import { Dialog, SelectField, TextArea, TextField } from '../../components/forms.tsx'
import { Icon } from '../../components/icon.tsx'
import { Fold, Panel, Screen } from '../../components/layout.tsx'
import { Markdown } from '../../components/markdown.tsx'
import { useWho } from '../../shell/account.tsx'
import { go, usePlace } from '../../shell/router.tsx'
import { formatDate } from '../../strings/format.ts'
import { t } from '../../strings/strings.ts'
import { sharedText } from './client-tools.ts'
import {
  type Category,
  categories,
  fits,
  inOrder,
  maxContentLength,
  maxTitleLength,
  newerOf,
  onEntriesChanged,
  openPrivateStore,
  type PrivateEntry,
  type PrivateStore,
  readPrivateFile,
  readWords,
  toFile,
} from './private-store.ts'
import { switchTo, useConsent } from './private-switch.tsx'

/** The entries of this browser in order; undefined until they are loaded. */
function useEntries(): { entries: readonly PrivateEntry[] | undefined; error: Error | undefined } {
  const { name } = useWho()
  const [entries, setEntries] = useState<readonly PrivateEntry[]>()
  const [error, setError] = useState<Error>()
  useEffect(() => {
    let isShown = true
    async function read(): Promise<void> {
      try {
        const store = await openPrivateStore(name)
        const found = await store.list()
        if (isShown) setEntries(inOrder(found))
      } catch (cause) {
        if (isShown) setError(cause instanceof Error ? cause : new Error(String(cause)))
      }
    }
    void read()
    const stop = onEntriesChanged(() => void read())
    return () => {
      isShown = false
      stop()
    }
  }, [name])
  return { entries, error }
}

function EntryCard({ entry, onEdit }: { entry: PrivateEntry; onEdit(): void }) {
  const { name } = useWho()
  const toasts = useToasts()
  const { title, content, category, priority, source, updatedAt } = entry

  async function change(action: (store: PrivateStore) => Promise<void>): Promise<boolean> {
    try {
      await action(await openPrivateStore(name))
      return true
    } catch (error) {
      toasts.failed(error)
      return false
    }
  }

  async function remove(): Promise<void> {
    if (!(await change((store) => store.remove(entry.id)))) return
    toasts.done(t.privateNotes.deleted(title), {
      label: t.common.undo,
      run: () => void change((store) => store.put([entry])),
    })
  }

  return (
    <li className="rounded-xl border border-line bg-raised p-4">
      <div className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <h2 className="font-medium">{title}</h2>
          <p className="text-xs text-soft">
            {[
              category,
              t.privateNotes.priority(priority),
              source === 'ai' ? t.privateNotes.writtenByFamiliar : t.privateNotes.writtenByYou,
              formatDate(updatedAt, { dateStyle: 'medium' }),
            ].join(' · ')}
          </p>
        </div>
        <Menu
          trigger={
            <IconButton label={t.privateNotes.actionsFor(title)}>
              <Icon name="more" />
            </IconButton>
          }
          items={[
            { label: t.common.edit, icon: 'edit', onSelect: onEdit },
            ...(source === 'ai'
              ? [
                  {
                    label: t.privateNotes.markAsMine,
                    icon: 'shield' as const,
                    onSelect: () => void change((store) => store.put([{ ...entry, source: 'user' }])),
                  },
                ]
              : []),
            { label: t.privateNotes.delete, icon: 'trash', onSelect: () => void remove(), isDangerous: true },
          ]}
        />
      </div>
      <div
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
        className="mt-2 max-h-60 overflow-y-auto"
      >
        <Markdown text={content} />
      </div>
      <ShareBox
        entry={entry}
        onChange={(isNowShared) => change((store) => store.put([{ ...entry, isShared: isNowShared }]))}
      />
    </li>
  )
}

function ShareBox({ entry, onChange }: { entry: PrivateEntry; onChange(isShared: boolean): Promise<boolean> }) {
  // Shown at once; the store is a moment behind.
  const [wanted, setWanted] = useState<boolean>()
  // biome-ignore lint/correctness/useExhaustiveDependencies: what the store says counts.
  useEffect(() => setWanted(undefined), [entry])
  async function choose(isShared: boolean): Promise<void> {
    setWanted(isShared)
    if (!(await onChange(isShared))) setWanted(undefined)
  }
  return (
    <label className="mt-2 inline-flex min-h-9 items-center gap-2 text-sm">
      <input
        type="checkbox"
        className="size-4 accent-accent"
        aria-label={t.privateNotes.shareWithFamiliar(entry.title)}
        checked={wanted ?? entry.isShared}
        onChange={(event) => void choose(event.target.checked)}
      />
      {t.privateNotes.shareWithFamiliarTitle}
    </label>
  )
}

const priorities = Array.from({ length: 10 }, (_, index) => {
  const value = String(10 - index)
  const meanings: Record<string, string> = { '10': t.privateNotes.mostImportant, '5': t.privateNotes.normal }
  return { value, label: `${value}${meanings[value] ?? ''}` }
})

function EntryDialog({ entry, onClose }: { entry: PrivateEntry | undefined; onClose(): void }) {
  const { name } = useWho()
  const toasts = useToasts()
  const [title, setTitle] = useState(entry?.title ?? '')
  const [content, setContent] = useState(entry?.content ?? '')
  const [category, setCategory] = useState<Category>(entry?.category ?? 'personal')
  const [priority, setPriority] = useState(entry?.priority ?? 5)
  const [problem, setProblem] = useState<string>()

  async function save(event: FormEvent): Promise<void> {
    event.preventDefault()
    const read = readWords({ title, content, category, priority })
    if (!read.ok) return setProblem(read.message)
    const at = new Date().toISOString()
    const saved: PrivateEntry = {
      id: entry?.id ?? crypto.randomUUID(),
      source: entry?.source ?? 'user',
      isShared: entry?.isShared ?? false,
      createdAt: entry?.createdAt ?? at,
      ...read.value,
      updatedAt: at,
    }
    try {
      await (await openPrivateStore(name)).put([saved])
      toasts.done(t.privateNotes.savedBrowser(saved.title))
      onClose()
    } catch (error) {
      toasts.failed(error)
    }
  }

  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={entry ? t.privateNotes.editNote : t.privateNotes.newNote}
      description={t.privateNotes.savedOnlyBrowser}
    >
      <form className="space-y-3" onSubmit={(event) => void save(event)}>
        <TextField
          label={t.common.title}
          autoFocus
          maxLength={maxTitleLength}
          value={title}
          onChange={(event) => setTitle(event.target.value)}
        />
        <TextArea
          label={t.privateNotes.content}
          rows={7}
          maxLength={maxContentLength}
          hint={t.privateNotes.markdownIsSupported}
          value={content}
          onChange={(event) => setContent(event.target.value)}
        />
        <div className="grid grid-cols-1 gap-3 sm:grid-cols-2">
          <SelectField
            label={t.common.category}
            value={category}
            choices={categories.map((value) => ({ value, label: value }))}
            onChange={(value) => setCategory(value as Category)}
          />
          <SelectField
            label={t.privateNotes.priorityTitle}
            value={String(priority)}
            choices={priorities}
            onChange={(value) => setPriority(Number(value))}
          />
        </div>
        {problem && (
          <p role="alert" className="text-sm text-bad">
            {problem}
          </p>
        )}
        <Button type="submit" kind="main" disabled={title.trim() === '' || content.trim() === ''}>
          {t.common.save}
        </Button>
      </form>
    </Dialog>
  )
}

/** The switch, its meaning, and the exact text that can leave the browser. */
export function SwitchAndShared() {
  const { name } = useWho()
  const consent = useConsent(name)
  const isOn = consent !== 'off'
  const toasts = useToasts()
  const { entries = [] } = useEntries()
  const id = useId()

  /** For a consent of an earlier version, in which each note had to be shared by hand. */
  async function shareSavedNotes(): Promise<void> {
    try {
      const own = entries.filter(({ source }) => source === 'ai')
      await (await openPrivateStore(name)).put(own.map((entry) => ({ ...entry, isShared: true })))
      switchTo(name, true)
    } catch (error) {
      toasts.failed(error)
    }
  }

  const shared = entries.filter(({ isShared }) => isShared)
  return (
    <div className="space-y-3">
      <label htmlFor={id} className="flex min-h-11 items-center gap-3 font-medium">
        <input
          id={id}
          type="checkbox"
          className="size-5 accent-accent"
          checked={isOn}
          onChange={(event) => {
            switchTo(name, event.target.checked)
            // Otherwise the browser may clear it when the disk is full.
            if (event.target.checked) void navigator.storage?.persist?.()
          }}
        />
        {t.privateNotes.letFamiliarUseThem}
      </label>
      <p className="text-sm text-soft">{t.privateNotes.consent[consent]}</p>
      {consent === 'saving' && (
        <Button onClick={() => void shareSavedNotes()}>{t.privateNotes.letFamiliarReadItsNotes}</Button>
      )}
      {shared.length > 0 && (
        <Fold
          icon="eye"
          title={t.privateNotes.sharedNotes(shared.length)}
          detail={isOn ? t.privateNotes.readableByFamiliar : t.privateNotes.usedTurned}
        >
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard. */}
          <pre tabIndex={0} className="max-h-72 overflow-auto whitespace-pre-wrap font-sans text-sm">
            {sharedText(entries)}
          </pre>
        </Fold>
      )}
      {shared.length === 0 && <p className="text-sm text-soft">{t.privateNotes.noSharedNotes}</p>}
    </div>
  )
}

/** The one way in which all of it leaves the browser: as a file, by the user's hand. */
function TransferButtons({ entries }: { entries: readonly PrivateEntry[] }) {
  const { name } = useWho()
  const toasts = useToasts()
  const picker = useRef<HTMLInputElement>(null)

  function save(): void {
    const now = new Date().toISOString()
    const address = URL.createObjectURL(new Blob([toFile(entries, now)], { type: 'application/json' }))
    const link = document.createElement('a')
    link.href = address
    link.download = `browser-memory-${now.slice(0, 10)}.json`
    link.click()
    URL.revokeObjectURL(address)
  }

  async function bring(file: File): Promise<void> {
    try {
      const { entries: brought, leftOut } = readPrivateFile(await file.text(), new Date().toISOString())
      const taken = newerOf(entries, brought)
      await (await openPrivateStore(name)).put(taken)
      const counts = [
        t.privateNotes.importedOfNotes(taken.length, brought.length),
        ...(leftOut > 0 ? [t.privateNotes.couldRead(leftOut)] : []),
        ...(taken.length > 0 ? [t.privateNotes.importedNotesShared] : []),
      ]
      toasts.done(counts.join(' '))
    } catch (error) {
      toasts.failed(error)
    }
  }

  return (
    <>
      <Button disabled={entries.length === 0} onClick={save}>
        {t.privateNotes.export}
      </Button>
      <Button onClick={() => picker.current?.click()}>{t.privateNotes.import}</Button>
      <input
        ref={picker}
        type="file"
        accept="application/json,.json"
        className="hidden"
        aria-label={t.privateNotes.fileToImport}
        onChange={(event) => {
          const [file] = event.target.files ?? []
          if (file) void bring(file)
          event.target.value = ''
        }}
      />
    </>
  )
}

const place = '/private-memory'

/** `/private-memory?words=…&category=…&source=…`, and `?entry=<id>` or `?entry=new` with the form open. */
export function PrivateMemoryScreen() {
  const { query } = usePlace()
  const { entries, error } = useEntries()
  const [words, setWords] = useState(query.get('words') ?? '')
  const filter = { words, category: query.get('category') ?? '', source: query.get('source') ?? '' }
  const shown = (entries ?? []).filter((entry) => fits(entry, filter))
  const wanted = query.get('entry')
  const open = entries?.find(({ id }) => id === wanted)

  function change(changes: Record<string, string>, options?: { replace?: boolean }): void {
    const next = new URLSearchParams(query)
    for (const [name, value] of Object.entries(changes)) value === '' ? next.delete(name) : next.set(name, value)
    go(next.size > 0 ? `${place}?${next}` : place, options)
  }

  return (
    <Screen
      title={t.privateNotes.privateNotes}
      intro={t.privateNotes.savedBrowserOnly}
      actions={
        <>
          <TransferButtons entries={entries ?? []} />
          <Button kind="main" onClick={() => change({ entry: 'new' })}>
            <Icon name="plus" size={16} /> {t.privateNotes.newNote}
          </Button>
        </>
      }
    >
      {error && <Failure error={error} />}
      <Panel className="mb-6">
        <SwitchAndShared />
      </Panel>
      {entries && entries.length > 0 && (
        <div className="mb-4 flex flex-wrap gap-2">
          <TextField
            label={t.common.search}
            isLabelHidden
            type="search"
            placeholder={t.common.search}
            className="min-w-48 flex-1"
            value={words}
            onChange={(event) => {
              setWords(event.target.value)
              change({ words: event.target.value }, { replace: true })
            }}
          />
          <SelectField
            label={t.common.category}
            isLabelHidden
            value={filter.category}
            choices={[
              { value: '', label: t.privateNotes.allCategories },
              ...categories.map((value) => ({ value, label: value })),
            ]}
            onChange={(category) => change({ category }, { replace: true })}
          />
          <SelectField
            label={t.privateNotes.author}
            isLabelHidden
            value={filter.source}
            choices={[
              { value: '', label: t.privateNotes.anyone },
              { value: 'user', label: t.common.you },
              { value: 'ai', label: t.common.familiar },
            ]}
            onChange={(source) => change({ source }, { replace: true })}
          />
        </div>
      )}
      <p role="status" className="sr-only">
        {entries && t.privateNotes.ofNotes(shown.length, entries.length)}
      </p>
      <ul className="space-y-3">
        {shown.map((entry) => (
          <EntryCard key={entry.id} entry={entry} onEdit={() => change({ entry: entry.id })} />
        ))}
      </ul>
      {entries?.length === 0 && (
        <Empty title={t.privateNotes.noPrivateNotesYet}>{t.privateNotes.writeDownWhatShould}</Empty>
      )}
      {entries && entries.length > 0 && shown.length === 0 && (
        <Empty title={t.common.noResults}>{t.privateNotes.tryFewerWords}</Empty>
      )}
      {(wanted === 'new' || open) && (
        <EntryDialog key={wanted} entry={open} onClose={() => change({ entry: '' }, { replace: true })} />
      )}
    </Screen>
  )
}
