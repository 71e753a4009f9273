import { useState } from 'react'
import type { CommitmentEditRequest, CommitmentReply } from '../../../../src/protocol/fact-api.ts'
import { ask } from '../../api/ask.ts'
import { Button } from '../../components/button.tsx'
import { classes } from '../../components/classes.ts'
import { Icon } from '../../components/icon.tsx'
import { useToasts } from '../../components/toast.tsx'
import { Link } from '../../shell/link.tsx'
import { formatMoment } from '../times.ts'
import type { Due } from './deadline.ts'

export function CommitmentRow(props: { commitment: CommitmentReply; due: Due; onChanged(): void }) {
  const { commitment, due, onChanged } = props
  const { id, who, to_whom, what, deadline, state, closed_at } = commitment
  const toasts = useToasts()
  const [isBusy, setIsBusy] = useState(false)

  async function set(next: NonNullable<CommitmentEditRequest['state']>, text: string): Promise<void> {
    setIsBusy(true)
    try {
      await ask(`/memories/commitments/${encodeURIComponent(id)}`, { method: 'PATCH', body: { state: next } })
      onChanged()
      const before = next === 'open' ? (state === 'cancelled' ? 'cancelled' : 'done') : 'open'
      toasts.done(text, { label: 'Undo', run: () => void set(before, 'As it was before.') })
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <li className="flex flex-wrap items-start gap-x-3 gap-y-2 border-b border-line py-3 last:border-b-0">
      <div className="min-w-52 flex-1">
        <Link
          href={`/memory/${encodeURIComponent(id)}`}
          className={classes('underline-offset-4 hover:underline', due === 'closed' && 'text-soft line-through')}
        >
          {what}
        </Link>
        <p className={classes('text-xs', due === 'overdue' ? 'font-medium text-bad' : 'text-soft')}>
          {[
            who === 'user' ? 'You' : who,
            to_whom && `to ${to_whom}`,
            due === 'overdue' && 'overdue',
            deadline && `by ${formatMoment(deadline)}`,
            due === 'closed' && state,
            closed_at && due === 'closed' && formatMoment(closed_at),
          ]
            .filter(Boolean)
            .join(' · ')}
        </p>
      </div>
      {due === 'closed' ? (
        <Button size="small" isBusy={isBusy} onClick={() => void set('open', 'Open again.')}>
          Open again
        </Button>
      ) : (
        <span className="flex gap-2">
          <Button size="small" isBusy={isBusy} aria-label={`Done: ${what}`} onClick={() => void set('done', 'Done.')}>
            <Icon name="check" size={14} /> Done
          </Button>
          <Button
            size="small"
            kind="quiet"
            isBusy={isBusy}
            aria-label={`Cancel: ${what}`}
            onClick={() => void set('cancelled', 'Cancelled.')}
          >
            Cancel
          </Button>
        </span>
      )}
    </li>
  )
}
