import { useState } from 'react'
import { ask } from '../api/ask.ts'
import { Button } from '../components/button.tsx'
import { useToasts } from '../components/toast.tsx'

/** A call that waits for the user's word: exactly this call, once. */
export function Approval({
  approval,
}: {
  approval: { id: string; question: string }
  onSend(text: string): Promise<boolean>
}) {
  const toasts = useToasts()
  const [answer, setAnswer] = useState<'approve' | 'deny'>()
  const [isBusy, setIsBusy] = useState(false)

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
      {answer ? (
        <p className="mt-2 text-sm font-medium">{answer === 'approve' ? 'You allowed it, once.' : 'You said no.'}</p>
      ) : (
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
