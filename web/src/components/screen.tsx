import type { ReactNode } from 'react'
import { Link } from '../shell/link.tsx'
import { useTitle } from '../shell/use-title.ts'
import { Icon } from './icon.tsx'

/** The frame of every screen but the talk: its name, what can be done, and its content. */
export function Screen(props: {
  title: string
  intro?: ReactNode
  actions?: ReactNode
  /** Of a thing in a list: the list. */
  back?: { href: string; label: string }
  children: ReactNode
}) {
  const { title, intro, actions, back, children } = props
  useTitle(title)
  return (
    <main id="main" tabIndex={-1} className="h-full overflow-y-auto outline-none">
      <div className="mx-auto max-w-5xl px-4 py-6 sm:px-8">
        {back && (
          <Link
            href={back.href}
            className="-ml-1 mb-2 inline-flex min-h-9 items-center gap-1 text-sm text-soft hover:text-ink"
          >
            <span className="rotate-180">
              <Icon name="chevron_right" size={14} />
            </span>
            {back.label}
          </Link>
        )}
        <header className="mb-5 flex flex-wrap items-start justify-between gap-3">
          <div className="min-w-0 flex-1 basis-72">
            <h1 className="text-2xl font-semibold tracking-tight">{title}</h1>
            {intro && <p className="mt-1 max-w-2xl text-soft whitespace-pre-line">{intro}</p>}
          </div>
          {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
        </header>
        {children}
      </div>
    </main>
  )
}

/** A part of a screen with a heading of its own. */
export function Section({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className="mb-8">
      <div className="mb-2 flex flex-wrap items-center justify-between gap-2">
        <h2 className="text-base font-semibold">{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  )
}

/** A raised box. */
export function Panel({ children, className = '' }: { children: ReactNode; className?: string }) {
  return <div className={`rounded-xl border border-line bg-raised p-4 ${className}`}>{children}</div>
}
