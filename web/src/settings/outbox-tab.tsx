import type { OutboxItemReply } from '../../../src/protocol/channels.ts'
import { call, useAnswer } from '../api/call.ts'
import { Badge, type BadgeKind, Button } from '../components/controls.tsx'
import { Empty, Failure, useToasts } from '../components/feedback.tsx'
import { SelectField } from '../components/forms.tsx'
import { Rich, When } from '../components/layout.tsx'
import { go, usePlace } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'

type State = OutboxItemReply['state']

const states: Record<State, [kind: BadgeKind, words: string]> = {
  pending: ['busy', t.outbox.waitingLower],
  sending: ['busy', t.outbox.sendingLower],
  sent: ['good', t.outbox.delivered],
  unknown: ['warn', t.outbox.possiblyDeliveredLower],
  failed: ['bad', t.outbox.failed],
  cancelled: ['plain', t.common.canceled],
}

const isState = (text: string): text is State => Object.hasOwn(states, text)

/** Messages to Telegram and callbacks, with their state. */
export function OutboxTab() {
  const toasts = useToasts()
  const { query } = usePlace()
  const state = query.get('state') ?? ''
  const { data, error, refresh } = useAnswer(
    'outbox.list',
    { state: isState(state) ? state : undefined },
    { everyMs: 15_000 },
  )

  async function act(item: OutboxItemReply, what: 'retry' | 'cancel'): Promise<void> {
    await call(`outbox.${what}`, { id: item.id }).then(
      () => toasts.done(what === 'retry' ? t.outbox.sendingAgain : t.outbox.sendingCanceled),
      toasts.failed,
    )
    refresh()
  }

  const choices = Object.entries(states).map(([value, [, words]]) => {
    return { value, label: `${words} (${data?.counts[value as State] ?? 0})` }
  })
  return (
    <>
      <p className="mb-4 max-w-2xl text-soft">
        <Rich text={t.outbox.help} />
      </p>
      <SelectField
        className="mb-4 max-w-xs"
        label={t.outbox.show}
        choices={[{ value: '', label: t.outbox.allTitle }, ...choices]}
        value={state}
        onChange={(value) => go(value ? `/settings/sent?state=${value}` : '/settings/sent', { replace: true })}
      />
      {error && <Failure error={error} onRetry={refresh} />}
      {data?.items.length === 0 && (
        <Empty title={t.outbox.nothingSentYet}>{t.outbox.messagesOtherChannelsListed}</Empty>
      )}
      {data && data.items.length > 0 && (
        <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
          {data.items.map((item) => (
            <OutboxRow key={item.id} item={item} onAct={(what) => void act(item, what)} />
          ))}
        </ul>
      )}
    </>
  )
}

function OutboxRow({ item, onAct }: { item: OutboxItemReply; onAct(what: 'retry' | 'cancel'): void }) {
  const { state, channel, address, preview, created_at, error } = item
  const [kind, words] = states[state]
  const mayRetry = state === 'failed' || state === 'unknown' || state === 'pending'
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2.5">
      <span className="min-w-0 flex-1">
        <span className="block truncate">{preview || t.outbox.noText}</span>
        <span className="block text-sm text-soft">
          {t.outbox.toChannel(channel, address)} <When at={created_at} />
        </span>
        {error && <span className="block text-sm text-bad">{error}</span>}
      </span>
      <Badge kind={kind}>{words}</Badge>
      {mayRetry && (
        <Button size="small" onClick={() => onAct('retry')}>
          {t.common.tryAgain}
        </Button>
      )}
      {state === 'pending' && (
        <Button size="small" kind="quiet" onClick={() => onAct('cancel')}>
          {t.outbox.cancelSendingTitle}
        </Button>
      )}
    </li>
  )
}
