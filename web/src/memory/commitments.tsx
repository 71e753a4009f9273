import { type FormEvent, useState } from 'react'
import type { CommitmentEditRequest, CommitmentReply } from '../../../src/protocol/memory.ts'
import { call, useAnswer } from '../api/call.ts'
import { Button, classes } from '../components/controls.tsx'
import { Empty, Failure, useToasts } from '../components/feedback.tsx'
import { TextField } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { Section } from '../components/layout.tsx'
import { Link, usePlace } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { dayKey, setQuery, showDay, showMoment } from './memory-list.tsx'

type Due = 'overdue' | 'today' | 'soon' | 'later' | 'none' | 'closed'

const dayMs = 24 * 60 * 60 * 1_000
const soonDays = 7

/** A deadline that is only a day ends with its last minute: the time would be noise. */
export function showDeadline(deadline: string): string {
  const at = new Date(deadline)
  return at.getHours() === 23 && at.getMinutes() === 59 ? showDay(deadline) : showMoment(deadline)
}

/** The due state of a commitment. An open one past its deadline has the state `expired`. */
export function dueOf({ state, deadline }: Pick<CommitmentReply, 'state' | 'deadline'>, now: Date): Due {
  if (state === 'done' || state === 'cancelled') return 'closed'
  if (deadline === null) return 'none'
  const at = Date.parse(deadline)
  if (state === 'expired' || at < now.getTime()) return 'overdue'
  if (dayKey(deadline) === dayKey(now)) return 'today'
  return at - now.getTime() < soonDays * dayMs ? 'soon' : 'later'
}

const dueNames: Record<Due, string> = {
  overdue: t.commitments.overdue,
  today: t.commitments.dueToday,
  soon: t.commitments.dueSoon,
  later: t.commitments.later,
  none: t.commitments.noDeadline,
  closed: t.commitments.closed,
}

/** In this order, the empty ones left out. */
export function byDue(
  commitments: readonly CommitmentReply[],
  now: Date,
): { due: Due; commitments: CommitmentReply[] }[] {
  const groups = Map.groupBy(commitments, (commitment) => dueOf(commitment, now))
  return (Object.keys(dueNames) as Due[]).flatMap((due) => {
    const own = groups.get(due)
    return own ? [{ due, commitments: due === 'none' || due === 'closed' ? own : own.toSorted(earliestFirst) }] : []
  })
}

function earliestFirst(a: CommitmentReply, b: CommitmentReply): number {
  return Date.parse(a.deadline ?? '') - Date.parse(b.deadline ?? '')
}

function CommitmentRow(props: { commitment: CommitmentReply; due: Due; onChanged(): void }) {
  const { commitment, due, onChanged } = props
  const { id, who, to_whom, what, deadline, state, closed_at } = commitment
  const toasts = useToasts()
  const [isBusy, setIsBusy] = useState(false)

  async function set(next: NonNullable<CommitmentEditRequest['state']>, text: string): Promise<void> {
    setIsBusy(true)
    try {
      await call('commitments.edit', { id, state: next })
      onChanged()
      const before = next === 'open' ? (state === 'cancelled' ? 'cancelled' : 'done') : 'open'
      toasts.done(text, { label: t.common.undo, run: () => void set(before, t.commitments.changeUndone) })
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
            who === 'user' ? t.common.you : who,
            to_whom && t.commitments.to(to_whom),
            due === 'overdue' && t.commitments.overdueLower,
            deadline && t.commitments.by(showDeadline(deadline)),
            due === 'closed' && state,
            closed_at && due === 'closed' && showMoment(closed_at),
          ]
            .filter(Boolean)
            .join(' · ')}
        </p>
      </div>
      {due === 'closed' ? (
        <Button size="small" isBusy={isBusy} onClick={() => void set('open', t.commitments.reopened)}>
          {t.commitments.reopen}
        </Button>
      ) : (
        <span className="flex gap-2">
          <Button
            size="small"
            isBusy={isBusy}
            aria-label={t.commitments.done(what)}
            onClick={() => void set('done', t.commitments.markedAsDone)}
          >
            <Icon name="check" size={14} /> {t.common.done}
          </Button>
          <Button
            size="small"
            kind="quiet"
            isBusy={isBusy}
            aria-label={t.commitments.cancel(what)}
            onClick={() => void set('cancelled', t.commitments.canceled)}
          >
            {t.common.cancel}
          </Button>
        </span>
      )}
    </li>
  )
}

export function CommitmentsTab() {
  const { query } = usePlace()
  const showsClosed = query.get('closed') === 'true'
  const answer = useAnswer('commitments.list', { limit: 500 })
  const groups = byDue(answer.data?.commitments ?? [], new Date())
  const shown = groups.filter(({ due }) => showsClosed || due !== 'closed')
  return (
    <>
      <AddCommitment onAdded={answer.refresh} />
      <label className="my-3 flex min-h-9 items-center gap-2 text-sm">
        <input
          type="checkbox"
          checked={showsClosed}
          onChange={(event) => setQuery(query, { closed: event.target.checked ? 'true' : '' })}
        />
        {t.commitments.showDoneCanceled}
      </label>
      {answer.error && <Failure error={answer.error} onRetry={answer.refresh} />}
      {answer.data && shown.length === 0 && (
        <Empty title={t.commitments.noCommitments}>{t.commitments.promisesFromConversationsYours}</Empty>
      )}
      {shown.map(({ due, commitments }) => (
        <Section key={due} title={`${dueNames[due]} (${commitments.length})`}>
          <ul>
            {commitments.map((commitment: CommitmentReply) => (
              <CommitmentRow key={commitment.id} commitment={commitment} due={due} onChanged={answer.refresh} />
            ))}
          </ul>
        </Section>
      ))}
    </>
  )
}

function AddCommitment({ onAdded }: { onAdded(): void }) {
  const toasts = useToasts()
  const [what, setWhat] = useState('')
  const [deadline, setDeadline] = useState('')

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    try {
      await call('commitments.add', { what: what.trim(), deadline: deadline || undefined })
      setWhat('')
      setDeadline('')
      onAdded()
    } catch (error) {
      toasts.failed(error)
    }
  }

  return (
    <form className="flex flex-wrap items-end gap-2" onSubmit={(event) => void submit(event)}>
      <TextField
        label={t.commitments.newCommitment}
        className="min-w-52 flex-1"
        value={what}
        maxLength={2_000}
        placeholder={t.commitments.sendRuthPhotos}
        onChange={(event) => setWhat(event.target.value)}
      />
      <TextField
        label={t.commitments.due}
        type="date"
        className="w-40"
        value={deadline}
        onChange={(event) => setDeadline(event.target.value)}
      />
      <Button type="submit" disabled={what.trim() === ''}>
        {t.commitments.add}
      </Button>
    </form>
  )
}
