import { Suspense, useEffect, useState } from 'react'
import { IconButton } from '../components/button.tsx'
import { classes } from '../components/classes.ts'
import { Icon } from '../components/icon.tsx'
import { OverPage } from '../palette/over-page.tsx'
import { TalkScreen } from '../talk/talk-screen.tsx'
import { NotFound } from './not-found.tsx'
import { usePlace } from './router.ts'
import { ScreenBoundary } from './screen-boundary.tsx'
import { screenAt } from './screens.tsx'
import { SideList } from './side-list.tsx'
import { useWho } from './who.ts'

/** The page around every screen: the list at the side, which a narrow window slides in, and the screen itself. */
export function Shell() {
  const { path } = usePlace()
  const [isOpen, setIsOpen] = useState(false)
  const { is_owner } = useWho()
  const entry = screenAt(path)
  const isTalk = path === '/' || /^\/talk(?:\/[\w-]*)?$/.test(path)

  // biome-ignore lint/correctness/useExhaustiveDependencies: going somewhere closes the list and begins at the top.
  useEffect(() => setIsOpen(false), [path])

  return (
    <div className="flex h-full">
      <a
        href="#main"
        className="sr-only z-50 rounded-lg bg-accent px-3 py-2 text-accent-ink focus:not-sr-only focus:fixed focus:top-2 focus:left-2"
      >
        Skip to the content
      </a>
      {isOpen && (
        <button
          type="button"
          aria-label="Close the menu"
          className="fixed inset-0 z-20 bg-black/40 md:hidden"
          onClick={() => setIsOpen(false)}
        />
      )}
      <div
        className={classes(
          'fixed inset-y-0 left-0 z-30 w-72 max-w-[85vw] border-r border-line bg-sunken transition-transform md:static md:translate-x-0',
          isOpen ? 'translate-x-0' : '-translate-x-full max-md:invisible',
        )}
      >
        <SideList />
      </div>
      <div className="flex min-w-0 flex-1 flex-col">
        <header className="flex items-center gap-2 border-b border-line px-2 py-1 md:hidden">
          <IconButton label="Open the menu" aria-expanded={isOpen} onClick={() => setIsOpen(true)}>
            <Icon name="menu" />
          </IconButton>
          <span className="font-semibold">Familiar</span>
        </header>
        <div className="min-h-0 flex-1">
          <ScreenBoundary key={entry?.path ?? 'talk'}>
            {entry && (is_owner || !entry.isOwners) ? (
              <Suspense fallback={<p className="breathing p-8 text-soft">One moment …</p>}>
                <entry.Component />
              </Suspense>
            ) : isTalk ? (
              <TalkScreen />
            ) : (
              <NotFound isOwners={entry !== undefined} />
            )}
          </ScreenBoundary>
        </div>
      </div>
      <OverPage />
    </div>
  )
}
