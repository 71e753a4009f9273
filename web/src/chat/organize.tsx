import { type ReactNode, useEffect, useMemo, useState } from 'react'
import type { ExportFormat, FolderReply } from '../../../src/protocol/organize.ts'
import type { PageSession } from '../../../src/protocol/page.ts'
import { call, callRaw, useAnswer } from '../api/call.ts'
import { Button, IconButton, Menu } from '../components/controls.tsx'
import { Empty, Failure, useToasts } from '../components/feedback.tsx'
import { Dialog, TextField } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { When } from '../components/layout.tsx'
import { go } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { refreshSessions, useFolders } from './sessions.ts'

/** The actions on one or several conversations. Each reports its result and offers an undo. */
export function useOrganize() {
  const toasts = useToasts()

  async function attempt(work: () => Promise<void>): Promise<boolean> {
    try {
      await work()
      return true
    } catch (error) {
      toasts.failed(error)
      return false
    } finally {
      refreshSessions()
    }
  }

  /** The open conversation is left when it goes out of the list. */
  function leave(ids: readonly string[]): void {
    if (ids.some((id) => location.pathname === `/talk/${id}`)) go('/')
  }

  const unarchive = (ids: readonly string[], told = t.organize.unarchived) =>
    attempt(async () => {
      await call('organize.unarchive', { sessions: [...ids] })
      toasts.done(told)
    })
  const restore = (ids: readonly string[]) =>
    attempt(async () => {
      await call('organize.restore', { sessions: [...ids] })
      toasts.done(t.organize.restored)
    })
  return {
    restore,
    unarchive,
    archive: (ids: readonly string[]) =>
      attempt(async () => {
        await call('organize.archive', { sessions: [...ids] })
        leave(ids)
        toasts.done(t.organize.archived(ids.length), { label: t.common.undo, run: () => void unarchive(ids) })
      }),
    delete: (ids: readonly string[]) =>
      attempt(async () => {
        await call('organize.delete', { sessions: [...ids] })
        leave(ids)
        toasts.done(t.organize.deleted(ids.length), { label: t.common.undo, run: () => void restore(ids) })
      }),
    move: (ids: readonly string[], folder: FolderReply | null) =>
      attempt(async () => {
        await call('organize.move', { sessions: [...ids], folder: folder?.id ?? null })
        toasts.done(folder ? t.organize.moved(folder.name) : t.organize.movedOut)
      }),
    pin: (id: string, pinned: boolean) => attempt(async () => void (await call('page.pin', { id, pinned }))),
    rename: (id: string, title: string) => attempt(async () => void (await call('page.rename', { id, title }))),
    addFolder: async (name: string): Promise<FolderReply | undefined> => {
      let added: FolderReply | undefined
      await attempt(async () => {
        added = await call('folders.add', { name })
      })
      return added
    },
    renameFolder: (id: string, name: string) => attempt(async () => void (await call('folders.rename', { id, name }))),
    removeFolder: ({ id, name }: FolderReply) =>
      attempt(async () => {
        await call('folders.remove', { id })
        toasts.done(t.organize.folderRemoved(name))
      }),
  }
}

/** A dialog with one name. */
export function NameDialog(props: {
  isOpen: boolean
  title: string
  label: string
  initial: string
  maxLength: number
  /** An empty name restores the default. */
  mayBeEmpty?: boolean
  onClose(): void
  /** True if it was saved. */
  onSave(name: string): Promise<boolean>
}) {
  const { isOpen, title, label, initial, maxLength, mayBeEmpty = false, onClose, onSave } = props
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={title}>
      {isOpen && <NameForm {...{ label, initial, maxLength, mayBeEmpty, onClose, onSave }} />}
    </Dialog>
  )
}

function NameForm(props: {
  label: string
  initial: string
  maxLength: number
  mayBeEmpty: boolean
  onClose(): void
  onSave(name: string): Promise<boolean>
}) {
  const { label, initial, maxLength, mayBeEmpty, onClose, onSave } = props
  const [name, setName] = useState(initial)
  const [isBusy, setIsBusy] = useState(false)
  async function save(): Promise<void> {
    setIsBusy(true)
    if (await onSave(name.trim())) onClose()
    setIsBusy(false)
  }
  return (
    <form
      className="space-y-3"
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <TextField
        label={label}
        autoFocus
        value={name}
        maxLength={maxLength}
        onFocus={(event) => event.target.select()}
        onChange={(event) => setName(event.target.value)}
      />
      <Button type="submit" kind="main" isBusy={isBusy} disabled={!mayBeEmpty && name.trim() === ''}>
        {t.common.save}
      </Button>
    </form>
  )
}

/** The folders as a list of buttons, with one for no folder and a field for a new one. */
export function MoveDialog(props: { sessions: readonly PageSession[] | undefined; onClose(moved: boolean): void }) {
  const { sessions, onClose } = props
  return (
    <Dialog isOpen={sessions !== undefined} onClose={() => onClose(false)} title={t.organize.moveToFolder}>
      {sessions && <FolderChoice sessions={sessions} onClose={onClose} />}
    </Dialog>
  )
}

function FolderChoice({ sessions, onClose }: { sessions: readonly PageSession[]; onClose(moved: boolean): void }) {
  const organize = useOrganize()
  const folders = useFolders()
  const [name, setName] = useState('')
  const ids = sessions.map(({ id }) => id)
  const [first] = sessions
  const here = sessions.every(({ folder }) => folder === first?.folder) ? first?.folder : undefined

  async function moveTo(folder: FolderReply | null): Promise<void> {
    if (await organize.move(ids, folder)) onClose(true)
  }
  async function moveToNew(): Promise<void> {
    const added = await organize.addFolder(name.trim())
    if (added) await moveTo(added)
  }

  return (
    <div className="space-y-4">
      <ul className="max-h-72 overflow-y-auto">
        {[...folders, null].map((folder) => {
          const isHere = here === (folder?.id ?? null)
          return (
            <li key={folder?.id ?? ''}>
              <button
                type="button"
                aria-current={isHere ? 'true' : undefined}
                onClick={() => void moveTo(folder)}
                className="flex min-h-11 w-full items-center gap-2.5 rounded-lg px-2 text-start hover:bg-sunken"
              >
                <span className="text-soft">
                  <Icon name={folder ? 'folder' : 'close'} size={16} />
                </span>
                <span className="min-w-0 flex-1 truncate">{folder?.name ?? t.organize.noFolder}</span>
                {isHere && <Icon name="check" size={16} />}
              </button>
            </li>
          )
        })}
      </ul>
      <form
        className="flex items-end gap-2 border-t border-line pt-4"
        onSubmit={(event) => {
          event.preventDefault()
          void moveToNew()
        }}
      >
        <TextField
          className="flex-1"
          label={t.organize.newFolder}
          value={name}
          maxLength={80}
          onChange={(event) => setName(event.target.value)}
        />
        <Button type="submit" disabled={name.trim() === ''}>
          {t.common.create}
        </Button>
      </form>
    </div>
  )
}

/** Chooses a format, and says what the file contains before it is saved. */
export function ExportDialog(props: { sessions: readonly PageSession[] | undefined; onClose(done: boolean): void }) {
  const { sessions, onClose } = props
  return (
    <Dialog
      isOpen={sessions !== undefined}
      onClose={() => onClose(false)}
      title={t.organize.exportTitle(sessions?.length ?? 1)}
    >
      {sessions && <ExportForm sessions={sessions} onClose={onClose} />}
    </Dialog>
  )
}

const formats = ['md', 'html', 'json'] as const satisfies readonly ExportFormat[]

interface ExportedMessages {
  messages: { attachments?: string[] }[]
}

async function fetchExport(ids: string, format: ExportFormat): Promise<Response> {
  return callRaw('organize.export', { sessions: ids, format })
}

async function countContent(ids: string): Promise<{ messages: number; files: number }> {
  const read = (await (await fetchExport(ids, 'json')).json()) as
    | ExportedMessages
    | { conversations: ExportedMessages[] }
  const messages = ('conversations' in read ? read.conversations : [read]).flatMap((one) => one.messages)
  return {
    messages: messages.length,
    files: messages.reduce((sum, { attachments = [] }) => sum + attachments.length, 0),
  }
}

function ExportForm({ sessions, onClose }: { sessions: readonly PageSession[]; onClose(done: boolean): void }) {
  const toasts = useToasts()
  const [format, setFormat] = useState<ExportFormat>('md')
  const [content, setContent] = useState<{ messages: number; files: number }>()
  const [isBusy, setIsBusy] = useState(false)

  // The list is read again every few seconds; what is counted stays the same.
  const ids = sessions.map(({ id }) => id).join(',')
  useEffect(() => {
    let isGone = false
    countContent(ids).then(
      (counted) => isGone || setContent(counted),
      (error: unknown) => isGone || toasts.failed(error),
    )
    return () => {
      isGone = true
    }
  }, [ids, toasts])

  async function save(): Promise<void> {
    setIsBusy(true)
    try {
      const response = await fetchExport(ids, format)
      const named = /filename\*=UTF-8''([^;]+)/.exec(response.headers.get('content-disposition') ?? '')?.[1]
      download(await response.blob(), named ? decodeURIComponent(named) : `conversation.${format}`)
      onClose(true)
    } catch (error) {
      toasts.failed(error)
    }
    setIsBusy(false)
  }

  return (
    <form
      className="space-y-4"
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <fieldset>
        <legend className="sr-only">{t.organize.export}</legend>
        {formats.map((one) => (
          <label key={one} className="flex min-h-10 items-center gap-2.5">
            <input type="radio" name="format" checked={format === one} onChange={() => setFormat(one)} />
            {t.organize.formats[one]}
          </label>
        ))}
      </fieldset>
      <div className="space-y-1 rounded-lg bg-sunken px-3 py-2 text-sm text-soft" role="note">
        <p>{content ? t.organize.contains(content.messages, content.files) : t.organize.counting}</p>
        <p>{t.organize.containsNot}</p>
        {format === 'html' && <p>{t.organize.htmlHint}</p>}
      </div>
      <Button type="submit" kind="main" isBusy={isBusy} disabled={content === undefined}>
        <Icon name="arrow_down" size={16} /> {t.organize.download}
      </Button>
    </form>
  )
}

function download(data: Blob, name: string): void {
  const address = URL.createObjectURL(data)
  const link = document.createElement('a')
  link.href = address
  link.download = name
  link.click()
  URL.revokeObjectURL(address)
}

/** The actions of one conversation behind a button, with the dialogs that they open. */
export function SessionMenu({
  session,
  label,
  className,
}: {
  session: PageSession
  label: string
  className?: string
}) {
  const organize = useOrganize()
  const toasts = useToasts()
  const { id } = session
  const title = session.title ?? session.contact
  const [opened, setOpened] = useState<'rename' | 'move' | 'export'>()
  const [wasOpened, setWasOpened] = useState(false)
  const close = () => setOpened(undefined)
  const open = (dialog: 'rename' | 'move' | 'export') => () => {
    setWasOpened(true)
    setOpened(dialog)
  }
  async function copyMarkdown(): Promise<void> {
    try {
      await navigator.clipboard.writeText(await (await fetchExport(id, 'md')).text())
      toasts.done(t.chat.copiedMarkdown)
    } catch (error) {
      toasts.failed(error)
    }
  }
  const isActive = session.state === 'active'
  const sessions = useMemo(() => [session], [session])
  return (
    <>
      <Menu
        trigger={
          <IconButton label={label} className={className}>
            <Icon name="more" />
          </IconButton>
        }
        items={[
          { label: t.chat.rename, icon: 'edit', onSelect: open('rename') },
          {
            label: session.is_pinned ? t.chat.unpin : t.chat.pin,
            icon: 'pin',
            onSelect: () => void organize.pin(id, !session.is_pinned),
          },
          { label: t.organize.moveToFolder, icon: 'folder', onSelect: open('move') },
          { label: t.chat.copyMarkdown, icon: 'copy', onSelect: () => void copyMarkdown() },
          { label: t.organize.export, icon: 'arrow_down', onSelect: open('export') },
          isActive
            ? { label: t.organize.archive, icon: 'archive', onSelect: () => void organize.archive([id]) }
            : { label: t.organize.unarchive, icon: 'archive', onSelect: () => void organize.unarchive([id]) },
          { label: t.organize.delete, icon: 'trash', isDangerous: true, onSelect: () => void organize.delete([id]) },
        ]}
      />
      {/* Drawn when first opened: there is one menu for each conversation. */}
      {wasOpened && (
        <>
          <NameDialog
            isOpen={opened === 'rename'}
            title={t.chat.rename}
            label={t.common.title}
            initial={title}
            maxLength={200}
            mayBeEmpty
            onClose={close}
            onSave={(name) => organize.rename(id, name)}
          />
          <MoveDialog sessions={opened === 'move' ? sessions : undefined} onClose={close} />
          <ExportDialog sessions={opened === 'export' ? sessions : undefined} onClose={close} />
        </>
      )}
    </>
  )
}

/** Deleted conversations, with the way back. */
export function DeletedDialog({ isOpen, onClose }: { isOpen: boolean; onClose(): void }) {
  return (
    <Dialog isOpen={isOpen} onClose={onClose} title={t.organize.recentlyDeleted} description={t.organize.deletedHelp}>
      {isOpen && <DeletedList />}
    </Dialog>
  )
}

function DeletedList(): ReactNode {
  const organize = useOrganize()
  const { data, error, refresh } = useAnswer('organize.deleted', {})
  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">{t.common.loading}</p>
  if (data.sessions.length === 0) return <Empty title={t.organize.nothingDeleted} />
  return (
    <ul className="divide-y divide-line">
      {data.sessions.map(({ id, title, contact, deleted_at }) => (
        <li key={id} className="flex items-center gap-3 py-2">
          <span className="min-w-0 flex-1">
            <span className="block truncate">{title ?? contact}</span>
            <span className="block text-sm text-soft">
              <When at={deleted_at} />
            </span>
          </span>
          <Button size="small" onClick={() => void organize.restore([id]).then(refresh)}>
            {t.organize.restore}
          </Button>
        </li>
      ))}
    </ul>
  )
}
