import type { ReactNode } from 'react'
import type { MemoryReply } from '../../../src/protocol/memory-api.ts'
import { Link } from '../shell/link.tsx'
import { formatDay, formatHour } from './times.ts'
import { UntrustedMark } from './untrusted-mark.tsx'
import { kindNames, shownContent, sourceNames, tierNames } from './words.ts'

/** One memory in a list: its beginning, and what it is. */
export function MemoryRow(props: {
  memory: MemoryReply
  showsHour?: boolean
  actions?: ReactNode
  children?: ReactNode
}) {
  const { memory, showsHour = false, actions, children } = props
  const { id, kind, title, source, tier, label, tags, created_at, file } = memory
  return (
    <li className="border-b border-line py-3 last:border-b-0 [content-visibility:auto] [contain-intrinsic-size:auto_5rem]">
      <div className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <Link
            href={`/memory/${encodeURIComponent(id)}`}
            className="line-clamp-3 underline-offset-4 hover:text-accent hover:underline"
          >
            {title && <span className="font-medium">{title}: </span>}
            {shownContent(memory)}
          </Link>
          <p className="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-xs text-soft">
            <span className="font-medium text-ink">{kindNames[kind]}</span>
            <time dateTime={created_at}>{showsHour ? formatHour(created_at) : formatDay(created_at)}</time>
            <span>{file ? file.path : sourceNames[source]}</span>
            {tier === 'short_term' && <span>{tierNames[tier]}</span>}
            {label === 'untrusted' && <UntrustedMark />}
            {tags.map((tag) => (
              <span key={tag} className="rounded bg-sunken px-1.5">
                {tag}
              </span>
            ))}
          </p>
        </div>
        {actions}
      </div>
      {children}
    </li>
  )
}
