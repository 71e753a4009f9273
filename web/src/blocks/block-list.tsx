import type { AssetsReply } from '../../../src/protocol/asset-api.ts'
import { ask } from '../api/ask.ts'
import { IconButton } from '../components/button.tsx'
import { classes } from '../components/classes.ts'
import { TextField } from '../components/field.tsx'
import { Icon } from '../components/icon.tsx'
import { Empty } from '../components/notice.tsx'
import { useToasts } from '../components/toast.tsx'
import { Link } from '../shell/link.tsx'
import { go, usePlace } from '../shell/router.ts'
import { useWho } from '../shell/who.ts'
import { labelOf, placeOf } from './block-label.ts'

/** `?words=…` narrows it. */
export function BlockList(props: {
  entries: AssetsReply['entries']
  isCut: boolean
  pinned: readonly string[]
  onChanged(): void
}) {
  const { entries, isCut, pinned, onChanged } = props
  const { query } = usePlace()
  const words = query.get('words') ?? ''
  const shown = entries.filter(({ path }) => labelOf(path).toLocaleLowerCase().includes(words.toLocaleLowerCase()))
  if (entries.length === 0) {
    return (
      <Empty title="There are no blocks yet">
        Put down what Familiar should always know: who is who, how you like things done, where a project stands. It may
        write into them as well, and every change can be undone.
      </Empty>
    )
  }
  return (
    <>
      {entries.length > 8 && (
        <TextField
          label="Search blocks"
          isLabelHidden
          type="search"
          placeholder="Search …"
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
            isPinned={pinned.includes(labelOf(entry.path))}
            onChanged={onChanged}
          />
        ))}
      </ul>
      {shown.length === 0 && <Empty title="Nothing fits" />}
      {isCut && <p className="mt-2 text-sm text-soft">There are more. The first thousand are shown.</p>}
    </>
  )
}

function BlockRow(props: { entry: AssetsReply['entries'][number]; isPinned: boolean; onChanged(): void }) {
  const { entry, isPinned, onChanged } = props
  const toasts = useToasts()
  const canWrite = useWho().scope === 'owner'
  const label = labelOf(entry.path)

  async function togglePin(): Promise<void> {
    try {
      if (isPinned) await ask('/pins', { method: 'DELETE', query: { label } })
      else await ask('/pins', { body: { label } })
      toasts.done(isPinned ? `${label} is no longer in the prompt.` : `${label} stands in every prompt now.`)
      onChanged()
    } catch (error) {
      toasts.failed(error)
    }
  }

  return (
    <li className="flex items-center gap-1 pe-2">
      <Link href={placeOf(label)} className="min-w-0 flex-1 rounded-xl px-4 py-2.5 hover:bg-sunken">
        <span className="block font-medium">{label}</span>
        <span className="block text-xs text-soft">
          {entry.bytes.toLocaleString()} bytes · changed {new Date(entry.modified_at).toLocaleString()}
        </span>
      </Link>
      {canWrite && (
        <IconButton
          label={isPinned ? `Unpin ${label}` : `Pin ${label}`}
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
