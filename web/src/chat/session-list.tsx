import { type DragEvent, type ReactNode, useState } from 'react'
import type { FolderReply } from '../../../src/protocol/organize.ts'
import type { PageSession } from '../../../src/protocol/page.ts'
import { Button, classes, IconButton, Menu } from '../components/controls.tsx'
import { TextField } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { Link, usePlace } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { focusComposer } from './composer.tsx'
import { addressOf, Marked, useFound } from './find.tsx'
import { DeletedDialog, ExportDialog, MoveDialog, NameDialog, SessionMenu, useOrganize } from './organize.tsx'
import { groupOf, useFolders, useSessions } from './sessions.ts'

/** Selected conversations; undefined while nothing is selected. */
interface Selection {
  ids: ReadonlySet<string>
  toggle(id: string): void
}

const dragType = 'application/x-familiar-sessions'

/** The ids that are dragged: a browser shows them only when they are dropped. */
function draggedIds({ dataTransfer }: DragEvent): string[] {
  return dataTransfer.getData(dragType).split(',').filter(Boolean)
}

/** A place where dragged conversations can be dropped. */
function DropArea({
  onDrop,
  children,
  className,
}: {
  onDrop(ids: string[]): void
  children: ReactNode
  className?: string
}) {
  const [depth, setDepth] = useState(0)
  const isOurs = ({ dataTransfer }: DragEvent) => dataTransfer.types.includes(dragType)
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the menu of a conversation does the same by keyboard.
    <div
      className={classes(className, 'rounded-lg', depth > 0 && 'bg-accent-soft outline-2 outline-accent')}
      onDragEnter={(event) => isOurs(event) && setDepth((count) => count + 1)}
      onDragLeave={(event) => isOurs(event) && setDepth((count) => Math.max(0, count - 1))}
      onDragOver={(event) => isOurs(event) && event.preventDefault()}
      onDrop={(event) => {
        setDepth(0)
        if (!isOurs(event)) return
        event.preventDefault()
        onDrop(draggedIds(event))
      }}
    >
      {children}
    </div>
  )
}

function SessionEntry({
  session,
  isHere,
  selection,
}: {
  session: PageSession
  isHere: boolean
  selection: Selection | undefined
}) {
  const { id, title, contact, preview, channel, state, is_unread, is_private } = session
  const isUnread = is_unread && !isHere
  const name = title ?? contact
  const about = [channel !== 'web' && channel, state === 'archived' && t.chat.archivedLower, preview]
  const lines = (
    <>
      <span className="flex items-center gap-1.5">
        {is_private && <Icon name="eye_off" size={12} />}
        <span dir="auto" className={classes('truncate text-sm', isUnread && 'font-semibold')}>
          {name}
        </span>
        {isUnread && <span className="size-2 shrink-0 rounded-full bg-accent" title={t.chat.unread} />}
        {isUnread && <span className="sr-only">{t.chat.unreadNote}</span>}
      </span>
      <span dir="auto" className="block truncate text-xs text-soft">
        {about.filter(Boolean).join(' · ')}
      </span>
    </>
  )
  if (selection) {
    return (
      <li>
        <label className="flex cursor-pointer items-center gap-2 rounded-lg px-2 py-1.5 hover:bg-ground">
          <input
            type="checkbox"
            className="shrink-0"
            aria-label={t.organize.selectNamed(name)}
            checked={selection.ids.has(id)}
            onChange={() => selection.toggle(id)}
          />
          <span className="min-w-0 flex-1">{lines}</span>
        </label>
      </li>
    )
  }
  return (
    <li className={classes('group/entry relative rounded-lg hover:bg-ground', isHere && 'bg-ground')}>
      <Link
        href={`/talk/${id}`}
        aria-current={isHere ? 'page' : undefined}
        draggable
        onDragStart={(event) => {
          event.dataTransfer.setData(dragType, id)
          event.dataTransfer.effectAllowed = 'move'
        }}
        className="block rounded-lg py-1.5 ps-2 pe-9"
      >
        {lines}
      </Link>
      <SessionMenu
        session={session}
        label={t.organize.actionsOf(name)}
        className="absolute end-0.5 top-1/2 size-8! -translate-y-1/2 opacity-0 group-focus-within/entry:opacity-100 group-hover/entry:opacity-100 data-[state=open]:opacity-100 pointer-coarse:opacity-100"
      />
    </li>
  )
}

const closedKey = 'familiar.closed_folders'

/** Which folders are collapsed in this browser. */
function useClosedFolders(): [closed: ReadonlySet<string>, toggle: (id: string) => void] {
  const [closed, setClosed] = useState<ReadonlySet<string>>(
    () => new Set((localStorage.getItem(closedKey) ?? '').split(',').filter(Boolean)),
  )
  function toggle(id: string): void {
    const next = new Set(closed)
    if (!next.delete(id)) next.add(id)
    localStorage.setItem(closedKey, [...next].join(','))
    setClosed(next)
  }
  return [closed, toggle]
}

function FolderSection(props: {
  folder: FolderReply
  members: readonly PageSession[]
  isOpen: boolean
  onToggle(): void
  renderEntry(session: PageSession): ReactNode
}) {
  const { folder, members, isOpen, onToggle, renderEntry } = props
  const organize = useOrganize()
  const [isRenaming, setIsRenaming] = useState(false)
  return (
    <DropArea onDrop={(ids) => void organize.move(ids, folder)}>
      <section aria-label={folder.name}>
        <div className="group/folder flex items-center rounded-lg hover:bg-ground">
          <button
            type="button"
            aria-expanded={isOpen}
            onClick={onToggle}
            className="flex min-h-9 min-w-0 flex-1 items-center gap-1.5 px-2 text-start text-sm"
          >
            <span className={classes('text-soft transition-transform rtl:-scale-x-100', isOpen && 'rotate-90')}>
              <Icon name="chevron_right" size={12} />
            </span>
            <span className="text-soft">
              <Icon name="folder" size={15} />
            </span>
            <span dir="auto" className="truncate font-medium">
              {folder.name}
            </span>
            <span className="text-xs text-soft tabular-nums">{members.length}</span>
          </button>
          <Menu
            trigger={
              <IconButton
                label={t.organize.actionsOfFolder(folder.name)}
                className="size-8! opacity-0 group-focus-within/folder:opacity-100 group-hover/folder:opacity-100 data-[state=open]:opacity-100 pointer-coarse:opacity-100"
              >
                <Icon name="more" />
              </IconButton>
            }
            items={[
              { label: t.organize.renameFolder, icon: 'edit', onSelect: () => setIsRenaming(true) },
              {
                label: t.organize.removeFolder,
                icon: 'trash',
                isDangerous: true,
                onSelect: () => void organize.removeFolder(folder),
              },
            ]}
          />
        </div>
        {isOpen && members.length > 0 && <ul className="ms-3 border-s border-line ps-1">{members.map(renderEntry)}</ul>}
        {isOpen && members.length === 0 && <p className="ms-6 py-1 text-xs text-soft">{t.organize.emptyFolder}</p>}
      </section>
      <NameDialog
        isOpen={isRenaming}
        title={t.organize.renameFolder}
        label={t.organize.folderName}
        initial={folder.name}
        maxLength={80}
        onClose={() => setIsRenaming(false)}
        onSave={(name) => organize.renameFolder(folder.id, name)}
      />
    </DropArea>
  )
}

function SelectionBar({ chosen, onDone }: { chosen: readonly PageSession[]; onDone(): void }) {
  const organize = useOrganize()
  const [opened, setOpened] = useState<'move' | 'export'>()
  const ids = chosen.map(({ id }) => id)
  const isEmpty = ids.length === 0
  const actions = [
    { label: t.organize.moveToFolder, icon: 'folder', run: () => setOpened('move') },
    { label: t.organize.archive, icon: 'archive', run: () => void organize.archive(ids).then((ok) => ok && onDone()) },
    { label: t.organize.export, icon: 'arrow_down', run: () => setOpened('export') },
    { label: t.organize.delete, icon: 'trash', run: () => void organize.delete(ids).then((ok) => ok && onDone()) },
  ] as const
  const close = (isDone: boolean) => {
    setOpened(undefined)
    if (isDone) onDone()
  }
  return (
    <div role="toolbar" aria-label={t.organize.select} className="rounded-lg bg-ground ps-2">
      <div className="flex items-center">
        <span className="min-w-0 flex-1 text-sm" role="status">
          {t.organize.selected(ids.length)}
        </span>
        <IconButton label={t.common.cancel} onClick={onDone}>
          <Icon name="close" size={16} />
        </IconButton>
      </div>
      <div className="-ms-2 flex justify-between">
        {actions.map(({ label, icon, run }) => (
          <IconButton key={label} label={label} className="pointer-coarse:size-11!" disabled={isEmpty} onClick={run}>
            <Icon name={icon} size={16} />
          </IconButton>
        ))}
      </div>
      <MoveDialog sessions={opened === 'move' ? chosen : undefined} onClose={close} />
      <ExportDialog sessions={opened === 'export' ? chosen : undefined} onClose={close} />
    </div>
  )
}

const messagesAtOnce = 10

/** The messages that contain the words, below the conversations whose title does. */
function FoundMessages({ query, hasTitles }: { query: string; hasTitles: boolean }) {
  const { found, isSearching } = useFound(query, { kinds: ['message'], limit: messagesAtOnce })
  if (found.length === 0) {
    if (isSearching) return <p className="breathing px-2 text-xs text-soft">{t.find.searching}</p>
    return hasTitles ? null : <p className="px-2 text-sm text-soft">{t.common.noResults}</p>
  }
  return (
    <section aria-label={t.find.kinds.message}>
      <h2 className="px-2 pt-2 pb-0.5 text-xs font-medium text-soft">{t.find.kinds.message}</h2>
      <ul>
        {found.map((one) => (
          <li key={`${one.id} ${one.message?.id ?? one.message?.turn}`}>
            <Link href={addressOf(one) ?? '/'} className="block rounded-lg px-2 py-1.5 hover:bg-ground">
              <span className="block truncate text-sm">{one.title}</span>
              <span className="line-clamp-2 text-xs text-soft" dir="auto">
                {one.message?.role === 'user' && (
                  <span dir="auto" className="font-medium">
                    {t.chat.you}{' '}
                  </span>
                )}
                <Marked {...one.snippet} />
              </span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** The list of conversations: folders first, then by date. Archived and deleted ones on request. */
export function SessionList() {
  const { path } = usePlace()
  const organize = useOrganize()
  const sessions = useSessions()
  const folders = useFolders()
  const [query, setQuery] = useState('')
  const [showsArchived, setShowsArchived] = useState(false)
  const [closed, toggleFolder] = useClosedFolders()
  const [selected, setSelected] = useState<ReadonlySet<string>>()
  const [opened, setOpened] = useState<'folder' | 'deleted'>()

  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const isSearch = words.length > 0
  const matches = sessions.filter(
    ({ title, contact, state }) =>
      (showsArchived || isSearch || state === 'active') &&
      words.every((word) => `${title ?? ''} ${contact}`.toLowerCase().includes(word)),
  )
  const inFolders = Map.groupBy(matches, ({ folder }) => folder ?? '')
  const loose = isSearch ? matches : matches.filter(({ folder }) => !folders.some(({ id }) => id === folder))
  const groups = Map.groupBy(loose, (session) => groupOf(session, new Date()))
  const chosen = sessions.filter(({ id }) => selected?.has(id))

  const selection = selected && {
    ids: selected,
    toggle(id: string) {
      const next = new Set(selected)
      if (!next.delete(id)) next.add(id)
      setSelected(next)
    },
  }
  const renderEntry = (session: PageSession) => (
    <SessionEntry key={session.id} session={session} isHere={path === `/talk/${session.id}`} selection={selection} />
  )

  return (
    <div className="space-y-2">
      {/* Stays in view: it has the search field and the actions of a selection. */}
      <div className="sticky top-0 z-10 space-y-2 bg-sunken pb-1">
        <Link
          href="/"
          onClick={focusComposer}
          className="flex min-h-9 items-center gap-2 rounded-lg border border-line bg-ground px-2.5 text-sm font-medium hover:border-accent"
        >
          <Icon name="plus" size={16} /> {t.chat.newConversation}
        </Link>
        <TextField
          label={t.chat.searchConversations}
          isLabelHidden
          type="search"
          placeholder={t.chat.searchConversations}
          value={query}
          onChange={(event) => setQuery(event.target.value)}
        />
        {selected ? (
          <SelectionBar chosen={chosen} onDone={() => setSelected(undefined)} />
        ) : (
          <div className="flex items-center justify-between text-soft">
            <Button size="small" kind="quiet" disabled={sessions.length === 0} onClick={() => setSelected(new Set())}>
              <Icon name="check" size={14} /> {t.organize.select}
            </Button>
            <Button size="small" kind="quiet" onClick={() => setOpened('folder')}>
              <Icon name="folder" size={14} /> {t.organize.newFolder}
            </Button>
          </div>
        )}
      </div>
      {!isSearch && folders.length > 0 && (
        <section aria-label={t.organize.folders}>
          {folders.map((folder) => (
            <FolderSection
              key={folder.id}
              folder={folder}
              members={inFolders.get(folder.id) ?? []}
              isOpen={!closed.has(folder.id)}
              onToggle={() => toggleFolder(folder.id)}
              renderEntry={renderEntry}
            />
          ))}
        </section>
      )}
      <DropArea className="space-y-2" onDrop={(ids) => void organize.move(ids, null)}>
        {[...groups].map(([group, members]) => (
          <section key={group} aria-label={group}>
            <h2 className="px-2 pt-2 pb-0.5 text-xs font-medium text-soft">{group}</h2>
            <ul>{members.map(renderEntry)}</ul>
          </section>
        ))}
        {matches.length === 0 && !isSearch && <p className="px-2 text-sm text-soft">{t.chat.noConversationsYet}</p>}
        {loose.length === 0 && matches.length > 0 && (
          <p className="px-2 py-2 text-xs text-soft">{t.organize.dropToRemove}</p>
        )}
      </DropArea>
      {isSearch && <FoundMessages query={query} hasTitles={matches.length > 0} />}
      <div className="flex flex-wrap items-center justify-between gap-x-2">
        <label className="flex min-h-8 items-center gap-2 px-2 text-xs text-soft">
          <input type="checkbox" checked={showsArchived} onChange={(event) => setShowsArchived(event.target.checked)} />
          {t.chat.showArchived}
        </label>
        <Button size="small" kind="quiet" className="text-xs!" onClick={() => setOpened('deleted')}>
          {t.organize.recentlyDeleted}
        </Button>
      </div>
      <NameDialog
        isOpen={opened === 'folder'}
        title={t.organize.newFolder}
        label={t.organize.folderName}
        initial=""
        maxLength={80}
        onClose={() => setOpened(undefined)}
        onSave={async (name) => (await organize.addFolder(name)) !== undefined}
      />
      <DeletedDialog isOpen={opened === 'deleted'} onClose={() => setOpened(undefined)} />
    </div>
  )
}
