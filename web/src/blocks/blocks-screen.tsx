import { type DragEvent, type FormEvent, useState } from 'react'
import { ApiError, call, type Reply, useAnswer } from '../api/call.ts'
import { Button, classes, IconButton } from '../components/controls.tsx'
import { Empty, Failure, useToasts } from '../components/feedback.tsx'
import { Dialog, TextField } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { Screen, Section, timeAgo } from '../components/layout.tsx'
import { useWho } from '../shell/account.tsx'
import { go, Link, partBehind, usePlace } from '../shell/router.tsx'
import { formatBytes, formatNumber } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { BlockScreen } from './block-screen.tsx'
import { labelOfPath, movePin, pathOfLabel } from './blocks.ts'

/** `?words=…` narrows it. */
function BlockList(props: {
  entries: Reply<'blocks.list'>['entries']
  isCut: boolean
  pinned: readonly string[]
  onChanged(): void
}) {
  const { entries, isCut, pinned, onChanged } = props
  const { query } = usePlace()
  const words = query.get('words') ?? ''
  const shown = entries.filter(({ path }) => labelOfPath(path).toLocaleLowerCase().includes(words.toLocaleLowerCase()))
  if (entries.length === 0) {
    return <Empty title={t.notes.noNotesYet}>{t.notes.writeDownWhatFamiliar}</Empty>
  }
  return (
    <>
      {entries.length > 8 && (
        <TextField
          label={t.notes.searchNotes}
          isLabelHidden
          type="search"
          placeholder={t.common.search}
          className="mb-3"
          value={words}
          onChange={({ target }) =>
            go(target.value === '' ? '/blocks' : `/blocks?words=${encodeURIComponent(target.value)}`, { replace: true })
          }
        />
      )}
      <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
        {shown.map((entry) => (
          <BlockRow
            key={entry.uri}
            entry={entry}
            isPinned={pinned.includes(labelOfPath(entry.path))}
            onChanged={onChanged}
          />
        ))}
      </ul>
      {shown.length === 0 && <Empty title={t.common.noResults} />}
      {isCut && <p className="mt-2 text-sm text-soft">{t.notes.showingFirst1000}</p>}
    </>
  )
}

function BlockRow(props: { entry: Reply<'blocks.list'>['entries'][number]; isPinned: boolean; onChanged(): void }) {
  const { entry, isPinned, onChanged } = props
  const toasts = useToasts()
  const canWrite = useWho().scope === 'owner'
  const label = labelOfPath(entry.path)

  async function togglePin(): Promise<void> {
    try {
      if (isPinned) await call('pins.remove', { label })
      else await call('pins.add', { label })
      toasts.done(isPinned ? t.notes.unpinned(label) : t.notes.pinned(label))
      onChanged()
    } catch (error) {
      toasts.failed(error)
    }
  }

  return (
    <li className="flex items-center gap-1 pe-2">
      <Link href={pathOfLabel(label)} className="min-w-0 flex-1 rounded-xl px-4 py-2.5 hover:bg-sunken">
        <span className="block font-medium">{label}</span>
        <span className="block text-xs text-soft">
          {t.notes.bytesChanged(formatBytes(entry.bytes), timeAgo(Date.parse(entry.modified_at), Date.now()))}
        </span>
      </Link>
      {canWrite && (
        <IconButton
          label={isPinned ? t.notes.unpinLabel(label) : t.notes.pinLabel(label)}
          aria-pressed={isPinned}
          className={classes(isPinned && 'text-accent!')}
          onClick={() => void togglePin()}
        >
          <Icon name="pin" />
        </IconButton>
      )}
    </li>
  )
}

/** The share of the budget that the pinned blocks use. */
function BudgetBar({ used, budget }: { used: number; budget: number }) {
  const isOver = used > budget
  const percent = budget === 0 ? 100 : Math.min(100, (used / budget) * 100)
  const text = t.notes.ofTokens(formatNumber(used), formatNumber(budget))
  return (
    <div className="mb-4">
      <div className="mb-1 flex flex-wrap justify-between gap-x-3 text-sm">
        <span className="text-soft">{t.notes.spaceUsed}</span>
        <span className={classes('tabular-nums', isOver && 'font-medium text-bad')}>{text}</span>
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: a meter cannot have the colors of the page. */}
      <div
        role="meter"
        aria-label={t.notes.spaceUsedPinnedNotes}
        aria-valuemin={0}
        aria-valuemax={budget}
        aria-valuenow={Math.min(used, budget)}
        aria-valuetext={text}
        className="h-2.5 overflow-hidden rounded-full bg-sunken"
      >
        <div
          className={classes('h-full rounded-full', isOver ? 'bg-bad' : percent > 85 ? 'bg-warn' : 'bg-accent')}
          style={{ width: `${percent}%` }}
        />
      </div>
      {isOver && <p className="mt-1 text-sm text-bad">{t.notes.pinnedNotesExceedLimit}</p>}
    </div>
  )
}

/** Begins a block; a name that is taken leads to no other text being lost. */
function NewBlockDialog({ onClose }: { onClose(): void }) {
  const [label, setLabel] = useState('')
  const [problem, setProblem] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)

  async function create(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    try {
      const content = `# ${label.trim().replace(/^.*\//, '').replace(/\.md$/, '')}\n`
      const written = await call('blocks.write', { label: label.trim(), content, etag: null })
      go(pathOfLabel(labelOfPath(written.path)))
    } catch (error) {
      const isTaken = error instanceof ApiError && error.status === 409 && /changed in the meantime/.test(error.message)
      setProblem(isTaken ? t.notes.noteNameExistsChoose : (error as Error).message)
      setIsBusy(false)
    }
  }

  return (
    <Dialog isOpen onClose={onClose} title={t.notes.newNote}>
      <form className="space-y-3" onSubmit={(event) => void create(event)}>
        <TextField
          label={t.common.name}
          autoFocus
          maxLength={200}
          placeholder={t.notes.projectsGarden}
          hint={t.notes.lettersDigitsSpacesUse}
          error={problem}
          value={label}
          onChange={(event) => setLabel(event.target.value)}
        />
        <Button type="submit" kind="main" isBusy={isBusy} disabled={label.trim() === ''}>
          {t.common.create}
        </Button>
      </form>
    </Dialog>
  )
}

/** The pinned blocks in the order of the prompt: dragged, or moved by their buttons. */
function PinList(props: {
  pinned: Reply<'pins.list'>
  /** Undefined while it loads. */
  known: readonly string[] | undefined
  onOrder(pinned: Reply<'pins.list'>): void
  onChanged(): void
}) {
  const { pinned, known, onOrder, onChanged } = props
  const { pins } = pinned
  const toasts = useToasts()
  const canWrite = useWho().scope === 'owner'
  const [dragged, setDragged] = useState<string>()
  const [said, setSaid] = useState('')

  async function move(label: string, position: number): Promise<void> {
    if (position < 1 || position > pins.length) return
    onOrder(movePin(pinned, label, position))
    setSaid(t.notes.movedPosition(label, position, pins.length))
    await call('pins.add', { label, position }).catch(toasts.failed)
    onChanged()
  }

  async function unpin({ label, position }: Reply<'pins.add'>): Promise<void> {
    try {
      await call('pins.remove', { label })
      toasts.done(t.notes.unpinned(label), {
        label: t.common.undo,
        run: () => void call('pins.add', { label, position }).then(onChanged, toasts.failed),
      })
      onChanged()
    } catch (error) {
      toasts.failed(error)
    }
  }

  function onDrop(event: DragEvent, target: Reply<'pins.add'>): void {
    event.preventDefault()
    if (dragged !== undefined && dragged !== target.label) void move(dragged, target.position)
    setDragged(undefined)
  }

  if (pins.length === 0) {
    return <p className="text-sm text-soft">{t.notes.pinNoteIncludeEvery}</p>
  }
  return (
    <>
      <ol className="space-y-1.5">
        {pins.map((pin) => (
          <li
            key={pin.label}
            draggable={canWrite}
            onDragStart={(event) => {
              event.dataTransfer.effectAllowed = 'move'
              event.dataTransfer.setData('text/plain', pin.label)
              setDragged(pin.label)
            }}
            onDragEnd={() => setDragged(undefined)}
            onDragOver={(event) => event.preventDefault()}
            onDrop={(event) => onDrop(event, pin)}
            className={classes(
              'flex items-center gap-1 rounded-xl border bg-raised py-1 ps-3 pe-1',
              canWrite && 'cursor-grab',
              dragged === pin.label ? 'border-accent opacity-60' : 'border-line',
            )}
          >
            <span className="w-6 shrink-0 text-sm text-soft tabular-nums">{pin.position}.</span>
            <div className="min-w-0 flex-1">
              <Link href={pathOfLabel(pin.label)} draggable={false} className="font-medium hover:underline">
                {pin.label}
              </Link>
              <span className="ms-2 text-xs whitespace-nowrap text-soft">
                {t.notes.tokensTokens(formatNumber(pin.tokens))}
              </span>
              {known && !known.includes(pin.label) && <span className="ms-2 text-xs text-warn">{t.notes.deleted}</span>}
              {pin.trust === 'untrusted' && <span className="ms-2 text-xs text-warn">{t.notes.untrustedSource}</span>}
            </div>
            {canWrite && (
              <>
                {/* Not disabled at the ends, where the focus would be lost. */}
                <IconButton
                  label={t.notes.moveUp(pin.label)}
                  aria-disabled={pin.position === 1}
                  className="aria-disabled:opacity-40"
                  onClick={() => void move(pin.label, pin.position - 1)}
                >
                  <Icon name="arrow_up" size={16} />
                </IconButton>
                <IconButton
                  label={t.notes.moveDown(pin.label)}
                  aria-disabled={pin.position === pins.length}
                  className="aria-disabled:opacity-40"
                  onClick={() => void move(pin.label, pin.position + 1)}
                >
                  <Icon name="arrow_down" size={16} />
                </IconButton>
                <IconButton label={t.notes.unpinLabel(pin.label)} onClick={() => void unpin(pin)}>
                  <Icon name="close" size={16} />
                </IconButton>
              </>
            )}
          </li>
        ))}
      </ol>
      <p role="status" className="sr-only">
        {said}
      </p>
    </>
  )
}

/** `/blocks`, and `/blocks/<label>` for one of them. */
export function BlocksScreen() {
  const { path } = usePlace()
  const label = partBehind(path)
  return label === undefined ? <AllBlocks /> : <BlockScreen key={label} label={label} />
}

function AllBlocks() {
  const canWrite = useWho().scope === 'owner'
  const blocks = useAnswer('blocks.list', {})
  const pins = useAnswer('pins.list', {})
  const [isNew, setIsNew] = useState(false)
  const error = blocks.error ?? pins.error

  function refresh(): void {
    blocks.refresh()
    pins.refresh()
  }

  return (
    <Screen
      title={t.notes.notes}
      intro={t.notes.sharedNotesPinnedNotes}
      actions={
        canWrite && (
          <Button kind="main" onClick={() => setIsNew(true)}>
            <Icon name="plus" size={16} /> {t.notes.newNote}
          </Button>
        )
      }
    >
      {error && <Failure error={error} onRetry={refresh} />}
      {pins.data && (
        <Section title={t.notes.pinnedTitle}>
          <BudgetBar used={pins.data.tokens} budget={pins.data.budget} />
          <PinList
            pinned={pins.data}
            known={blocks.data?.entries.map(({ path }) => labelOfPath(path))}
            onOrder={pins.put}
            onChanged={pins.refresh}
          />
        </Section>
      )}
      {blocks.data && (
        <Section title={t.notes.allNotes}>
          <BlockList
            entries={blocks.data.entries}
            isCut={blocks.data.is_cut}
            pinned={pins.data?.pins.map(({ label }) => label) ?? []}
            onChanged={pins.refresh}
          />
        </Section>
      )}
      {isNew && <NewBlockDialog onClose={() => setIsNew(false)} />}
    </Screen>
  )
}
