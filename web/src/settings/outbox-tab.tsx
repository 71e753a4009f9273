import { useState } from 'react'
import type { OutboxItemReply } from '../../../src/protocol/channels.ts'
import { call, useAnswer } from '../api/call.ts'
import { Badge, type BadgeKind, Button } from '../components/controls.tsx'
import { Empty, Failure, useToasts } from '../components/feedback.tsx'
import { Dialog, SelectField } from '../components/forms.tsx'
import { Rich, When } from '../components/layout.tsx'
import { go, usePlace } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'

type OutboxState = OutboxItemReply['state']

interface StateWords {
  state: OutboxState
  label: string
  kind: BadgeKind
}

/** States that need attention come first. */
const outboxStates: readonly StateWords[] = [
  { state: 'failed', label: t.common.failed, kind: 'bad' },
  { state: 'unknown', label: t.outbox.possiblyDelivered, kind: 'warn' },
  { state: 'pending', label: t.outbox.waiting, kind: 'plain' },
  { state: 'sending', label: t.outbox.sending, kind: 'busy' },
  { state: 'sent', label: t.common.sent, kind: 'good' },
  { state: 'cancelled', label: t.outbox.canceled, kind: 'plain' },
]

const canRetry = (state: OutboxState) => state === 'failed' || state === 'unknown' || state === 'pending'
const canCancel = (state: OutboxState) => state === 'pending'

type Deed = 'retry' | 'cancel'

const questions: Record<Deed, { title: string; description: string; button: string; done: string }> = {
  retry: {
    title: t.outbox.sendAgain,
    description: t.outbox.knownWhetherMessageArrived,
    button: t.outbox.sendAgainTitle,
    done: t.outbox.sendingAgain,
  },
  cancel: {
    title: t.outbox.cancelSending,
    description: t.outbox.messageRemovedFromQueue,
    button: t.outbox.cancelSendingTitle,
    done: t.outbox.sendingCanceled,
  },
}

function OutboxItem({ item, onChanged }: { item: OutboxItemReply; onChanged(): void }) {
  const toasts = useToasts()
  const [asked, setAsked] = useState<Deed>()
  const [isBusy, setIsBusy] = useState(false)
  const state = outboxStates.find((known) => known.state === item.state)

  async function run(deed: Deed): Promise<void> {
    setAsked(undefined)
    setIsBusy(true)
    try {
      await call(`outbox.${deed}`, { id: item.id })
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
        <p dir="auto" className="truncate">
          {item.preview || t.outbox.noText}
        </p>
        <p className="mt-0.5 flex flex-wrap items-center gap-x-3 gap-y-1 text-xs text-soft">
          <Badge kind={state?.kind ?? 'plain'}>{state?.label ?? item.state}</Badge>
          <span>{t.outbox.to(item.channel, item.address)}</span>
          <When at={item.updated_at} />
          {item.attempts > 1 && <span>{t.outbox.attempts(item.attempts)}</span>}
          {item.next_at !== null && item.state === 'pending' && (
            <span>
              {t.outbox.nextAttempt} <When at={item.next_at} />
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
            {t.common.tryAgain}
          </Button>
        )}
        {canCancel(item.state) && (
          <Button size="small" kind="quiet" isBusy={isBusy} onClick={() => setAsked('cancel')}>
            {t.outbox.cancelSendingTitle}
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
            <Button onClick={() => setAsked(undefined)}>{t.outbox.keep}</Button>
            <Button kind="danger" onClick={() => void run(asked)}>
              {questions[asked].button}
            </Button>
          </div>
        </Dialog>
      )}
    </div>
  )
}

/** Messages to Telegram and callbacks, with their state. */
export function OutboxTab() {
  const { query } = usePlace()
  const chosen = outboxStates.find(({ state }) => state === query.get('state'))?.state
  const outbox = useAnswer('outbox.list', { state: chosen }, { everyMs: 5_000 })
  const counts = outbox.data?.counts
  const countOf = (state: OutboxState) => counts?.[state] ?? 0
  const all = outboxStates.reduce((sum, { state }) => sum + countOf(state), 0)
  const choices = [
    { value: '', label: t.outbox.all(all) },
    ...outboxStates.map(({ state, label }) => ({ value: state, label: `${label} (${countOf(state)})` })),
  ]
  const choose = (value: string) => go(value ? `/settings/sent?state=${value}` : '/settings/sent', { replace: true })
  return (
    <>
      <p className="mb-4 max-w-2xl text-soft">
        <Rich text={t.outbox.help} />
      </p>
      {all > 0 && (
        <SelectField
          className="mb-4 max-w-xs"
          label={t.outbox.show}
          choices={choices}
          value={chosen ?? ''}
          onChange={choose}
        />
      )}
      {outbox.error && <Failure error={outbox.error} onRetry={outbox.refresh} />}
      {outbox.data?.items.length === 0 && (
        <Empty title={chosen === undefined ? t.outbox.nothingSentYet : t.outbox.noMessages}>
          {t.outbox.messagesTelegramWebhooksOther}
        </Empty>
      )}
      {outbox.data && outbox.data.items.length > 0 && (
        <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
          {outbox.data.items.map((item) => (
            <li key={item.id} className="px-4 py-2.5">
              <OutboxItem item={item} onChanged={outbox.refresh} />
            </li>
          ))}
        </ul>
      )}
    </>
  )
}
