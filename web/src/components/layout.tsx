import { type ReactNode, useId, useState } from 'react'
import { Link, useTitle } from '../shell/router.tsx'
import { formatDate, formatDecimal, formatRelative } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { classes } from './controls.tsx'
import { Icon, type IconName } from './icon.tsx'

/** The frame of every screen except the chat: title, actions and content. */
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
            className="-ms-1 mb-2 inline-flex min-h-9 items-center gap-1 text-sm text-soft hover:text-ink"
          >
            <Icon name="chevron_left" size={14} />
            {back.label}
          </Link>
        )}
        <header className="mb-5 flex flex-wrap items-start justify-between gap-3">
          <div className="min-w-0 flex-1 basis-72">
            <h1 dir="auto" className="text-2xl font-semibold tracking-tight">
              {title}
            </h1>
            {intro && (
              <p dir="auto" className="mt-1 max-w-2xl text-soft whitespace-pre-line">
                {intro}
              </p>
            )}
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

/** One line that unfolds. The content is drawn only when it is open. */
export function Fold(props: {
  icon: IconName
  title: string
  detail?: ReactNode
  /** Something is happening in it. */
  isActive?: boolean
  isBad?: boolean
  startsOpen?: boolean
  /** Open while something happens, unless the user has closed it. */
  opensWhileActive?: boolean
  children: ReactNode
}) {
  const { icon, title, detail, isActive = false, isBad = false, children } = props
  const { startsOpen = false, opensWhileActive = false } = props
  const [chosen, setChosen] = useState<boolean>()
  const isOpen = chosen ?? (startsOpen || (opensWhileActive && isActive))
  const id = useId()
  return (
    <div className={classes('rounded-xl border', isBad ? 'border-bad' : isOpen ? 'border-line' : 'border-transparent')}>
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setChosen(!isOpen)}
        className="flex min-h-9 w-full items-center gap-2 rounded-xl px-2 text-start text-sm hover:bg-sunken"
      >
        <span className={classes(isBad ? 'text-bad' : 'text-soft', isActive && 'breathing')}>
          <Icon name={icon} size={16} />
        </span>
        <span className="shrink-0 font-medium">{title}</span>
        <span dir="auto" className="min-w-0 flex-1 truncate text-soft">
          {detail}
        </span>
        <span className={classes('text-soft transition-transform', isOpen && 'rotate-90 rtl:-rotate-90')}>
          <Icon name="chevron_right" size={14} />
        </span>
      </button>
      {isOpen && (
        <div id={id} className="border-t border-line px-3 py-2.5">
          {children}
        </div>
      )}
    </div>
  )
}

/** A list of names and values. Entries without a value are left out. */
export function FieldList({ facts }: { facts: readonly (readonly [name: string, value: ReactNode])[] }) {
  const known = facts.filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false)
  return (
    <dl className="grid grid-cols-1 gap-x-6 gap-y-2 text-sm sm:grid-cols-[max-content_1fr] sm:gap-y-1.5">
      {known.map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-soft max-sm:mt-1">{name}</dt>
          <dd className="min-w-0 max-sm:-mt-2">{value}</dd>
        </div>
      ))}
    </dl>
  )
}

interface Column {
  label: string
  isNumber?: boolean
  /** Left out where there is little room. */
  isExtra?: boolean
}

interface Row {
  key: string
  cells: readonly ReactNode[]
}

/** A table of numbers. The first cell of each row is its header. */
export function DataTable(props: { caption: string; columns: readonly Column[]; rows: readonly Row[] }) {
  const { caption, columns, rows } = props
  const look = ({ isNumber, isExtra }: Column) =>
    classes(
      'px-2 py-1.5 font-normal not-first:wrap-break-word first:ps-0 last:pe-0',
      isNumber ? 'text-end tabular-nums' : 'text-start',
      isExtra && 'max-sm:hidden',
    )
  return (
    <table className="w-full border-collapse text-sm">
      <caption className="sr-only">{caption}</caption>
      <thead>
        <tr className="text-xs text-soft">
          {columns.map((column) => (
            <th key={column.label} scope="col" className={look(column)}>
              {column.label}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map(({ key, cells }) => (
          <tr key={key} className="border-t border-line">
            {columns.map((column, at) => {
              const Cell = at === 0 ? 'th' : 'td'
              return (
                <Cell key={column.label} {...(at === 0 && { scope: 'row' })} className={look(column)}>
                  {cells[at]}
                </Cell>
              )
            })}
          </tr>
        ))}
      </tbody>
    </table>
  )
}

export function QuietLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <Link href={href} className="underline decoration-line underline-offset-4 hover:decoration-accent">
      {children}
    </Link>
  )
}

/** A moment: how long ago, and on hovering when exactly. */
export function When({ at }: { at: string }) {
  const time = new Date(at)
  return (
    <time dateTime={at} title={formatDate(time)} className="whitespace-nowrap">
      {timeAgo(time.getTime(), Date.now())}
    </time>
  )
}

const steps: [seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [60, 'second'],
  [3_600, 'minute'],
  [86_400, 'hour'],
  [604_800, 'day'],
  [2_629_800, 'week'],
  [31_557_600, 'month'],
]

export function timeAgo(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1_000)
  const place = steps.findIndex(([most]) => Math.abs(seconds) < most)
  const unit = steps[place]?.[1] ?? 'year'
  const size = place < 0 ? 31_557_600 : place === 0 ? 1 : (steps[place - 1]?.[0] ?? 1)
  return formatRelative(Math.round(seconds / size), unit)
}

export function duration(ms: number): string {
  if (ms < 1_000) return t.common.milliseconds(Math.round(ms))
  return ms < 60_000
    ? t.common.seconds(formatDecimal(ms / 1_000, 1))
    : t.common.minutesSeconds(Math.floor(ms / 60_000), Math.round((ms % 60_000) / 1_000))
}

/** A sentence of the catalog. Text in backticks is shown as code. */
export function Rich({ text }: { text: string }) {
  return text.split('`').map((part, index) =>
    index % 2 === 1 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence never move.
      <code key={index} className="font-mono text-sm">
        {part}
      </code>
    ) : (
      part
    ),
  )
}
