import { type FormEvent, useState } from 'react'
import type { CommitmentReply, CommitmentRequest, CommitmentsReply } from '../../../../src/protocol/fact-api.ts'
import { ask } from '../../api/ask.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Button } from '../../components/button.tsx'
import { TextField } from '../../components/field.tsx'
import { Empty, Failure } from '../../components/notice.tsx'
import { Section } from '../../components/screen.tsx'
import { useToasts } from '../../components/toast.tsx'
import { usePlace } from '../../shell/router.ts'
import { setQuery } from '../set-query.ts'
import { CommitmentRow } from './commitment-row.tsx'
import { byDue, dueNames } from './deadline.ts'

export function CommitmentsTab() {
  const { query } = usePlace()
  const showsClosed = query.get('closed') === 'true'
  const answer = useAnswer<CommitmentsReply>('/memories/commitments', { query: { limit: 500 } })
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
        Also what is done or cancelled
      </label>
      {answer.error && <Failure error={answer.error} onRetry={answer.refresh} />}
      {answer.data && shown.length === 0 && (
        <Empty title="Nothing is owed">
          Promises that you mention in conversations, yours and other people’s, stand here with their deadlines.
        </Empty>
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
    const body: CommitmentRequest = { what: what.trim(), ...(deadline && { deadline }) }
    try {
      await ask('/memories/commitments', { body })
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
        label="I have promised to …"
        className="min-w-52 flex-1"
        value={what}
        maxLength={2_000}
        placeholder="send Ruth the photos"
        onChange={(event) => setWhat(event.target.value)}
      />
      <TextField
        label="By"
        type="date"
        className="w-40"
        value={deadline}
        onChange={(event) => setDeadline(event.target.value)}
      />
      <Button type="submit" disabled={what.trim() === ''}>
        Add
      </Button>
    </form>
  )
}
