import { useState } from 'react'
import type { OutboxItemReply } from '../../../../src/protocol/outbox-api.ts'
import { ask } from '../../api/ask.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { useToasts } from '../../components/toast.tsx'
import { When } from '../../components/when.tsx'
import { canCancel, canRetry, outboxStates } from './outbox-states.ts'

type Deed = 'retry' | 'cancel'

const questions: Record<Deed, { title: string; description: string; button: string; done: string }> = {
  retry: {
    title: 'Send it again?',
    description: 'Nobody knows whether it arrived. If it did, it arrives a second time.',
    button: 'Send again',
    done: 'It is sent again.',
  },
  cancel: {
    title: 'Not send it?',
    description: 'It waits no longer and does not go out. That cannot be taken back.',
    button: 'Do not send',
    done: 'It will not be sent.',
  },
}

export function OutboxItem({ item, onChanged }: { item: OutboxItemReply; onChanged(): void }) {
  const toasts = useToasts()
  const [asked, setAsked] = useState<Deed>()
  const [isBusy, setIsBusy] = useState(false)
  const state = outboxStates.find((known) => known.state === item.state)

  async function run(deed: Deed): Promise<void> {
    setAsked(undefined)
    setIsBusy(true)
    try {
      await ask(`/outbox/${item.id}/${deed}`, { body: {} })
      toasts.done(questions[deed].done)
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
      onChanged()
    }
  }

  return (
    <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
      <div className="min-w-0 flex-1 basis-64">
        <p className="truncate">{item.preview || '(without words)'}</p>
        <p className="mt-0.5 flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-soft">
          <Badge kind={state?.kind ?? 'plain'}>{state?.label ?? item.state}</Badge>
          <span>
            {item.channel} to {item.address}
          </span>
          <When at={item.updated_at} />
          {item.attempts > 1 && <span>tried {item.attempts} times</span>}
          {item.next_at !== null && item.state === 'pending' && (
            <span>
              next try <When at={item.next_at} />
            </span>
          )}
        </p>
        {item.error !== null && <p className="mt-1 text-xs text-bad">{item.error}</p>}
      </div>
      <div className="flex gap-2">
        {canRetry(item.state) && (
          <Button
            size="small"
            isBusy={isBusy}
            onClick={() => (item.state === 'unknown' ? setAsked('retry') : void run('retry'))}
          >
            Try again
          </Button>
        )}
        {canCancel(item.state) && (
          <Button size="small" kind="quiet" isBusy={isBusy} onClick={() => setAsked('cancel')}>
            Do not send
          </Button>
        )}
      </div>
      {asked && (
        <Dialog
          isOpen
          onClose={() => setAsked(undefined)}
          title={questions[asked].title}
          description={questions[asked].description}
        >
          <div className="flex justify-end gap-2">
            <Button onClick={() => setAsked(undefined)}>Leave it</Button>
            <Button kind="danger" onClick={() => void run(asked)}>
              {questions[asked].button}
            </Button>
          </div>
        </Dialog>
      )}
    </div>
  )
}
