import { type FormEvent, useCallback, useEffect, useState } from 'react'
import { ApiError, call, type Reply, useAnswer } from '../api/call.ts'
import { Button, IconButton, Menu } from '../components/controls.tsx'
import { Empty, Failure, Notice, useToasts } from '../components/feedback.tsx'
import { Dialog, TextField } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { Screen, timeAgo } from '../components/layout.tsx'
import { Tabs } from '../components/tabs.tsx'
import { useWho } from '../shell/account.tsx'
import { go, usePlace } from '../shell/router.tsx'
import { formatNumber } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { BlockEditor, CompactDialog } from './block-editor.tsx'
import { VersionsView } from './block-versions.tsx'
import { labelOfPath, pathOfLabel } from './blocks.ts'

/** The note was deleted or never existed. A deleted one can be restored. */
function DeletedBlock({ label, onRestored }: { label: string; onRestored(): void }) {
  const toasts = useToasts()
  const { data, isLoading } = useAnswer('blocks.history', { label })
  const newest = data?.versions.find(({ was_there }) => was_there)

  async function restore(version: number): Promise<void> {
    try {
      await call('blocks.undo', { label, version })
      onRestored()
    } catch (error) {
      toasts.failed(error)
    }
  }

  if (isLoading) return null
  return (
    <Empty title={newest ? t.notes.noteDeleted : t.notes.noteNotFound}>
      {newest && (
        <Button kind="main" className="mt-3" onClick={() => void restore(newest.version)}>
          {t.notes.restoreVersion(newest.version)}
        </Button>
      )}
    </Empty>
  )
}

export interface Block {
  content: string
  etag: string
  version: number
  trust: Reply<'blocks.read'>['trust']
  modifiedAt: string
}

/** A block as a whole. A text that is too long for one read comes from its version, which never changes. */
async function loadBlock(label: string, signal?: AbortSignal): Promise<Block> {
  const read = await call('blocks.read', { label }, { signal })
  const { etag, version, trust, modified_at: modifiedAt } = read
  const content = read.note === null ? read.text : await loadVersion(label, version, signal)
  return { content: content ?? read.text, etag, version, trust, modifiedAt }
}

export async function loadVersion(label: string, version: number, signal?: AbortSignal): Promise<string | null> {
  const { content } = await call('blocks.version', { label, version: String(version) }, { signal })
  return content
}

/** The block as it was last read; read again by `refresh`. */
function useBlock(label: string) {
  const [block, setBlock] = useState<Block>()
  const [error, setError] = useState<Error>()
  const [turn, setTurn] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: `turn` is what reads again.
  useEffect(() => {
    const controller = new AbortController()
    loadBlock(label, controller.signal).then(
      (loaded) => {
        setBlock(loaded)
        setError(undefined)
      },
      (cause: Error) => {
        if (controller.signal.aborted) return
        setBlock(undefined)
        setError(cause)
      },
    )
    return () => controller.abort()
  }, [label, turn])
  const refresh = useCallback(() => setTurn((before) => before + 1), [])
  return { block, error, refresh, put: setBlock }
}

/** The same text under another label, at the same place in the prompt. The old one is deleted last, so that the text always exists. */
async function renameBlock(request: {
  label: string
  to: string
  block: Block
  /** Its position among the pins; undefined where it is not pinned. */
  position: number | undefined
}): Promise<string> {
  const { label, to, block, position } = request
  // Both together may be larger than the budget: the old one makes room first.
  if (position !== undefined) await call('pins.remove', { label })
  try {
    const written = await call('blocks.write', { label: to, content: block.content, etag: null })
    const renamed = labelOfPath(written.path)
    if (position !== undefined) await call('pins.add', { label: renamed, position })
    await call('blocks.remove', { label, etag: block.etag })
    return renamed
  } catch (error) {
    if (position !== undefined) await call('pins.add', { label, position }).catch(() => undefined)
    const isTaken = error instanceof ApiError && error.status === 409 && /changed in the meantime/.test(error.message)
    throw isTaken ? new Error(t.notes.noteNameExistsNote) : error
  }
}

function RenameDialog(props: { label: string; block: Block; pin: Reply<'pins.add'> | undefined; onClose(): void }) {
  const { label, block, pin, onClose } = props
  const toasts = useToasts()
  const [name, setName] = useState(label)
  const [problem, setProblem] = useState<string>()
  const [isBusy, setIsBusy] = useState(false)

  async function rename(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    try {
      const renamed = await renameBlock({ label, to: name.trim(), block, position: pin?.position })
      toasts.done(t.notes.renamedEarlierVersionsStay(renamed, label))
      go(pathOfLabel(renamed), { replace: true })
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
      setIsBusy(false)
    }
  }

  return (
    <Dialog isOpen onClose={onClose} title={t.notes.rename}>
      <form className="space-y-3" onSubmit={(event) => void rename(event)}>
        <TextField
          label={t.common.name}
          autoFocus
          maxLength={200}
          error={problem}
          value={name}
          onChange={(event) => setName(event.target.value)}
        />
        <Button type="submit" kind="main" isBusy={isBusy} disabled={name.trim() === '' || name.trim() === label}>
          {t.notes.rename}
        </Button>
      </form>
    </Dialog>
  )
}

/** Actions on a whole block, each with an undo. */
function useBlockActions(
  label: string,
  { pin, onPinned }: { pin: Reply<'pins.add'> | undefined; onPinned(): void },
): { remove(etag: string): Promise<void>; togglePin(): Promise<void> } {
  const toasts = useToasts()

  async function bringBack(): Promise<void> {
    try {
      await call('blocks.undo', { label })
      if (pin) await call('pins.add', { label, position: pin.position })
      go(pathOfLabel(label))
    } catch (error) {
      toasts.failed(error)
    }
  }

  return {
    async remove(etag) {
      try {
        await call('blocks.remove', { label, etag })
        toasts.done(t.notes.deletedVersionsKept(label), { label: t.common.undo, run: () => void bringBack() })
        go('/blocks')
      } catch (error) {
        toasts.failed(error)
      }
    },
    async togglePin() {
      try {
        if (pin) await call('pins.remove', { label })
        else await call('pins.add', { label })
        onPinned()
      } catch (error) {
        toasts.failed(error)
      }
    },
  }
}

/** One block: `?tab=versions&version=3` shows what changed since then. */
export function BlockScreen({ label }: { label: string }) {
  const { query } = usePlace()
  const canWrite = useWho().scope === 'owner'
  const { block, error, refresh, put } = useBlock(label)
  const pins = useAnswer('pins.list', {})
  const pin = pins.data?.pins.find((one) => one.label === label)
  const { remove, togglePin } = useBlockActions(label, { pin, onPinned: pins.refresh })
  const [open, setOpen] = useState<'rename' | 'compact'>()
  const isGone = error instanceof ApiError && error.status === 404
  const tab = query.get('tab') === 'versions' ? 'versions' : 'edit'

  return (
    <Screen
      title={label}
      back={{ href: '/blocks', label: t.notes.allNotes }}
      actions={
        canWrite &&
        block && (
          <>
            <Button aria-pressed={pin !== undefined} onClick={() => void togglePin()}>
              <Icon name="pin" size={16} /> {pin ? t.notes.unpin : t.notes.pin}
            </Button>
            <Button onClick={() => setOpen('compact')}>{t.notes.shortenOngoing}</Button>
            <Menu
              trigger={
                <IconButton label={t.notes.actionsFor(label)}>
                  <Icon name="more" />
                </IconButton>
              }
              items={[
                { label: t.notes.rename, icon: 'edit', onSelect: () => setOpen('rename') },
                {
                  label: t.notes.delete,
                  icon: 'trash',
                  isDangerous: true,
                  onSelect: () => void remove(block.etag),
                },
              ]}
            />
          </>
        )
      }
    >
      <p className="-mt-3 mb-4 flex flex-wrap gap-x-3 text-sm text-soft">
        {block && <span>{t.notes.version(block.version)}</span>}
        {block && <span>{t.notes.changed(timeAgo(Date.parse(block.modifiedAt), Date.now()))}</span>}
        {pin && <span>{t.notes.pinnedPositionTokens(pin.position, formatNumber(pin.tokens))}</span>}
      </p>
      {block?.trust === 'untrusted' && (
        <div className="mb-4">
          <Notice kind="warning">{t.notes.containsTextFromUntrusted}</Notice>
        </div>
      )}
      {isGone ? (
        <DeletedBlock label={label} onRestored={refresh} />
      ) : (
        error && <Failure error={error} onRetry={refresh} />
      )}
      {block && (
        <Tabs
          label={label}
          value={tab}
          onChange={(name) => go(name === 'edit' ? pathOfLabel(label) : `${pathOfLabel(label)}?tab=${name}`)}
          tabs={[
            {
              name: 'edit',
              label: t.notes.text,
              content: (
                <BlockEditor label={label} block={block} canWrite={canWrite} onSaved={put} onPins={pins.refresh} />
              ),
            },
            {
              name: 'versions',
              label: t.notes.versions,
              content: <VersionsView label={label} block={block} canWrite={canWrite} onChanged={refresh} />,
            },
          ]}
        />
      )}
      {block && open === 'compact' && (
        <CompactDialog
          label={label}
          before={block.content}
          onClose={() => setOpen(undefined)}
          onDone={() => {
            refresh()
            pins.refresh()
          }}
        />
      )}
      {block && open === 'rename' && (
        <RenameDialog label={label} block={block} pin={pin} onClose={() => setOpen(undefined)} />
      )}
    </Screen>
  )
}

type Saved =
  | { kind: 'saved'; block: Block }
  | { kind: 'conflict'; theirs: Block }
  | { kind: 'refused'; message: string }

/** Writes over what the etag is of, and over nothing else. */
export async function saveBlock(write: { label: string; content: string; etag: string }): Promise<Saved> {
  const { label, content, etag } = write
  try {
    await call('blocks.write', { label, content, etag })
    return { kind: 'saved', block: await loadBlock(label) }
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (!(error instanceof ApiError) || error.status !== 409) return { kind: 'refused', message }
    // The budget is refused in the same way: only another text is a conflict.
    const theirs = await loadBlock(label).catch(() => undefined)
    return theirs && theirs.etag !== etag ? { kind: 'conflict', theirs } : { kind: 'refused', message }
  }
}
