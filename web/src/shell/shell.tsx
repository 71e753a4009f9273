import { Component, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { ChatScreen } from '../chat/chat-screen.tsx'
import { SessionList } from '../chat/session-list.tsx'
import { Button, classes, IconButton } from '../components/controls.tsx'
import { Empty, Notice } from '../components/feedback.tsx'
import { Icon } from '../components/icon.tsx'
import { preloadParts } from '../components/later.tsx'
import { Screen } from '../components/layout.tsx'
import { NoticeBell, NoticeCenter } from '../notices/notice-center.tsx'
import { useSending } from '../offline/outbox.ts'
import { OverPage, PaletteButton } from '../palette/over-page.tsx'
import { PreviewHost } from '../preview/preview.tsx'
import { t } from '../strings/strings.ts'
import { useWho } from './account.tsx'
import { Link, usePlace } from './router.tsx'
import { type Destination, destinations, screenAt, screens } from './screens.tsx'
import { ThemeSwitch } from './theme.tsx'

/** An address that no screen has, or one that is the owner's alone. */
function NotFound({ isOwners = false }: { isOwners?: boolean }) {
  return (
    <Screen title={isOwners ? t.shell.ownerOnly : t.shell.pageNotFound}>
      <Empty title={isOwners ? t.shell.onlyOwnerOpenPage : t.shell.noPageAddress}>
        <Link href="/" className="text-accent hover:underline">
          {t.shell.backToChat}
        </Link>
      </Empty>
    </Screen>
  )
}

/** A screen that fails does not take the page with it. Most often a newer Familiar has replaced the file that it needs. */
class ScreenBoundary extends Component<{ children: ReactNode }, { error: Error | undefined }> {
  override state = { error: undefined as Error | undefined }

  static getDerivedStateFromError(error: Error) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (!error) return this.props.children
    return (
      <Screen title={t.shell.pageCouldLoaded}>
        <Notice kind="error">{error.message}</Notice>
        <p className="my-4 text-soft">{t.shell.ifFamiliarUpdatedWhile}</p>
        <Button kind="main" onClick={() => location.reload()}>
          {t.shell.reloadPage}
        </Button>
      </Screen>
    )
  }
}

function SideList() {
  const { path } = usePlace()
  const { agent_name } = useWho()
  const here = screenAt(path)?.destination
  const shown = [
    { path: '/', label: t.palette.chat, icon: 'talk' as const, isHere: isChatPath(path) },
    ...destinations.map((destination) => ({ ...destination, isHere: destination.name === here })),
  ]
  return (
    <nav aria-label="Familiar" className="flex h-full flex-col gap-2 p-3">
      <div className="flex items-center">
        <Link href="/" className="min-w-0 flex-1 truncate px-2 py-1 text-lg font-semibold tracking-tight">
          {agent_name}
        </Link>
        <NoticeBell />
      </div>
      <PaletteButton />
      <div className="-mx-1 min-h-0 flex-1 overflow-y-auto px-1">
        <SessionList />
      </div>
      <ul className="shrink-0 border-t border-line pt-2">
        {shown.map(({ path: target, label, icon, isHere }) => (
          <li key={target}>
            <Link
              href={target}
              aria-current={isHere ? 'page' : undefined}
              className={classes(
                'flex min-h-8 items-center gap-2.5 rounded-lg px-2 text-sm hover:bg-ground max-md:min-h-11',
                isHere ? 'bg-ground font-medium' : 'text-soft',
              )}
            >
              <Icon name={icon} size={16} />
              {label}
            </Link>
          </li>
        ))}
      </ul>
      <ThemeSwitch />
    </nav>
  )
}

/** The sections of a destination: beside the screen for the long list of settings, otherwise above it. */
function SectionNav({ destination }: { destination: Destination }) {
  const { path } = usePlace()
  const { is_owner } = useWho()
  const here = screenAt(path)?.path
  const list = useRef<HTMLUListElement>(null)
  const sections = screens.filter((screen) => screen.destination === destination.name && (is_owner || !screen.isOwners))
  const isColumn = sections.length > 5

  // biome-ignore lint/correctness/useExhaustiveDependencies: on a narrow page the current one may be outside the view.
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [here])

  if (sections.length < 2) return null
  return (
    <nav
      aria-label={destination.label}
      data-sections
      className={classes('shrink-0 border-line max-md:border-b', isColumn ? 'md:w-52 md:border-e' : 'md:border-b')}
    >
      <ul
        ref={list}
        className={classes(
          'flex gap-1 overflow-x-auto px-3 py-1.5',
          isColumn && 'md:h-full md:flex-col md:gap-0.5 md:overflow-y-auto md:p-3',
        )}
      >
        {sections.map(({ path: target, label, icon }) => (
          <li key={target} className="shrink-0">
            <Link
              href={target}
              aria-current={target === here ? 'page' : undefined}
              className={classes(
                'flex min-h-9 items-center gap-2 rounded-lg px-2.5 text-sm whitespace-nowrap hover:bg-sunken max-md:min-h-11',
                isColumn && 'md:whitespace-normal',
                target === here ? 'bg-sunken font-medium' : 'text-soft',
              )}
            >
              <Icon name={icon} size={16} />
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}

const isChatPath = (path: string) => path === '/' || /^\/talk(?:\/[\w-]*)?$/.test(path)

/** The page around every screen: the list at the side, which a narrow window slides in, and the screen itself. */
export function Shell() {
  const { path } = usePlace()
  const [isOpen, setIsOpen] = useState(false)
  const { is_owner, name } = useWho()
  useSending(name)
  const entry = screenAt(path)
  const isAllowed = entry !== undefined && (is_owner || !entry.isOwners)
  const destination = isAllowed ? destinations.find(({ name }) => name === entry.destination) : undefined

  // biome-ignore lint/correctness/useExhaustiveDependencies: navigation closes the list and scrolls to the top.
  useEffect(() => setIsOpen(false), [path])
  useEffect(preloadParts, [])

  return (
    <div className="flex h-full">
      <a
        href="#main"
        className="sr-only z-50 rounded-lg bg-accent px-3 py-2 text-accent-ink focus:not-sr-only focus:fixed focus:start-2 focus:top-2"
      >
        {t.shell.skipToContent}
      </a>
      {isOpen && (
        <button
          type="button"
          aria-label={t.shell.closeMenu}
          className="fixed inset-0 z-20 bg-black/40 md:hidden"
          onClick={() => setIsOpen(false)}
        />
      )}
      <div
        className={classes(
          'fixed inset-y-0 start-0 z-30 w-72 max-w-[85vw] border-e border-line bg-sunken transition-transform md:static',
          !isOpen && 'max-md:invisible max-md:ltr:-translate-x-full max-md:rtl:translate-x-full',
        )}
      >
        <SideList />
      </div>
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="flex items-center gap-2 border-b border-line px-2 py-1 md:hidden">
          <IconButton label={t.shell.openMenu} aria-expanded={isOpen} onClick={() => setIsOpen(true)}>
            <Icon name="menu" />
          </IconButton>
          <span className="flex-1 font-semibold">Familiar</span>
          <NoticeBell />
        </header>
        <div className={classes('flex min-h-0 flex-1 flex-col', destination?.name === 'settings' && 'md:flex-row')}>
          {destination && <SectionNav destination={destination} />}
          <div className="min-h-0 min-w-0 flex-1">
            <ScreenBoundary key={entry?.path ?? 'talk'}>
              {isAllowed ? (
                <Suspense fallback={<p className="breathing p-8 text-soft">{t.common.loading}</p>}>
                  <entry.Component />
                </Suspense>
              ) : isChatPath(path) ? (
                <ChatScreen />
              ) : (
                <NotFound isOwners={entry !== undefined} />
              )}
            </ScreenBoundary>
          </div>
        </div>
      </div>
      <NoticeCenter />
      <PreviewHost />
      <OverPage />
    </div>
  )
}
