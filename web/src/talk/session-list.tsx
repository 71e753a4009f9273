import { useState } from 'react'
import { classes } from '../components/classes.ts'
import { TextField } from '../components/field.tsx'
import { Icon } from '../components/icon.tsx'
import { Link } from '../shell/link.tsx'
import { usePlace } from '../shell/router.ts'
import { useSessions } from './sessions-store.ts'

/** The sessions at the side: those that go on, and those that are archived. */
export function SessionList() {
  const { path } = usePlace()
  const sessions = useSessions()
  const [query, setQuery] = useState('')
  const [showsArchived, setShowsArchived] = useState(false)
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const found = sessions.filter(
    ({ title, contact, preview, state }) =>
      (showsArchived || state === 'active') &&
      words.every((word) => `${title ?? ''} ${contact} ${preview}`.toLowerCase().includes(word)),
  )
  return (
    <div className="space-y-2">
      <Link
        href="/"
        className="flex min-h-9 items-center gap-2 rounded-lg border border-line bg-ground px-2.5 text-sm font-medium hover:border-accent"
      >
        <Icon name="plus" size={16} /> New conversation
      </Link>
      <TextField
        label="Search the conversations"
        isLabelHidden
        type="search"
        placeholder="Search"
        value={query}
        onChange={(event) => setQuery(event.target.value)}
      />
      <ul>
        {found.map(({ id, title, contact, preview, channel, state, is_unread }) => {
          const isHere = path === `/talk/${id}`
          const isUnread = is_unread && !isHere
          return (
            <li key={id}>
              <Link
                href={`/talk/${id}`}
                aria-current={isHere ? 'page' : undefined}
                className={classes('block rounded-lg px-2 py-1.5 hover:bg-ground', isHere && 'bg-ground')}
              >
                <span className="flex items-center gap-1.5">
                  <span className={classes('truncate text-sm', isUnread && 'font-semibold')}>{title ?? contact}</span>
                  {isUnread && <span className="size-2 shrink-0 rounded-full bg-accent" title="Unread" />}
                  {isUnread && <span className="sr-only">(unread)</span>}
                </span>
                <span className="block truncate text-xs text-soft">
                  {[channel !== 'web' && channel, state === 'archived' && 'archived', preview]
                    .filter(Boolean)
                    .join(' · ')}
                </span>
              </Link>
            </li>
          )
        })}
      </ul>
      {found.length === 0 && (
        <p className="px-2 text-sm text-soft">{words.length > 0 ? 'Nothing fits.' : 'Nothing yet.'}</p>
      )}
      <label className="flex items-center gap-2 px-2 text-xs text-soft">
        <input type="checkbox" checked={showsArchived} onChange={(event) => setShowsArchived(event.target.checked)} />
        Show archived
      </label>
    </div>
  )
}
