import { useState } from 'react'
import type { ApprovalsReply } from '../../../src/protocol/approval-api.ts'
import { ask } from '../api/ask.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Button } from '../components/button.tsx'
import { useToasts } from '../components/toast.tsx'

/** A call that waits for the user's word: exactly this call, once. What was answered before, or elsewhere, has no buttons. */
export function Approval({ approval }: { approval: { id: string; question: string } }) {
  const toasts = useToasts()
  const { data: waiting } = useAnswer<ApprovalsReply>('/approvals')
  const [answer, setAnswer] = useState<'approve' | 'deny'>()
  const [isBusy, setIsBusy] = useState(false)
  const isOver = answer === undefined && waiting?.approvals.every(({ id }) => id !== approval.id)

  async function give(chosen: 'approve' | 'deny'): Promise<void> {
    setIsBusy(true)
    try {
      await ask(`/approvals/${approval.id}`, { body: { answer: chosen } })
      setAnswer(chosen)
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <section aria-label="Your approval is needed" className="rounded-xl border border-warn bg-warn-soft p-3">
      <p className="whitespace-pre-wrap text-sm">{approval.question}</p>
      {answer && (
        <p className="mt-2 text-sm font-medium">{answer === 'approve' ? 'You allowed it, once.' : 'You said no.'}</p>
      )}
      {isOver && <p className="mt-2 text-sm font-medium">This was answered, or is too old to be.</p>}
      {!answer && !isOver && (
        <div className="mt-2 flex gap-2">
          <Button kind="main" isBusy={isBusy} onClick={() => void give('approve')}>
            Allow once
          </Button>
          <Button isBusy={isBusy} onClick={() => void give('deny')}>
            No
          </Button>
        </div>
      )}
    </section>
  )
}
