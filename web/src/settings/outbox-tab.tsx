import type { OutboxItemReply, OutboxReply } from '../../../src/protocol/outbox-api.ts'
import { ask } from '../api/ask.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Badge, type BadgeKind } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { SelectField } from '../components/field.tsx'
import { Empty, Failure } from '../components/notice.tsx'
import { useToasts } from '../components/toast.tsx'
import { When } from '../components/when.tsx'
import { go, usePlace } from '../shell/router.ts'

type State = OutboxItemReply['state']

const states: Record<State, [kind: BadgeKind, words: string]> = {
  pending: ['busy', 'waits'],
  sending: ['busy', 'on its way'],
  sent: ['good', 'arrived'],
  unknown: ['warn', 'may have arrived'],
  failed: ['bad', 'failed'],
  cancelled: ['plain', 'cancelled'],
}

/** What went out of the house by Telegram or a callback, and what of it arrived. */
export function OutboxTab() {
  const toasts = useToasts()
  const { query } = usePlace()
  const state = query.get('state') ?? ''
  const { data, error, refresh } = useAnswer<OutboxReply>('/outbox', { query: { state }, everyMs: 15_000 })

  async function act(item: OutboxItemReply, what: 'retry' | 'cancel'): Promise<void> {
    await ask(`/outbox/${item.id}/${what}`, { body: {} }).then(
      () => toasts.done(what === 'retry' ? 'It is tried again.' : 'It is not sent.'),
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
        What Familiar said elsewhere: on Telegram, or to a program that is called back. People pair on Telegram with a
        code that <code className="font-mono text-sm">familiar telegram pair</code> makes in a terminal.
      </p>
      <SelectField
        className="mb-4 max-w-xs"
        label="Show"
        choices={[{ value: '', label: 'Everything' }, ...choices]}
        value={state}
        onChange={(value) => go(value ? `/settings/sent?state=${value}` : '/settings/sent', { replace: true })}
      />
      {error && <Failure error={error} onRetry={refresh} />}
      {data?.items.length === 0 && <Empty title="Nothing went out">What is sent elsewhere is listed here.</Empty>}
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
        <span className="block truncate">{preview || '(nothing to read)'}</span>
        <span className="block text-sm text-soft">
          {channel} to {address}, <When at={created_at} />
        </span>
        {error && <span className="block text-sm text-bad">{error}</span>}
      </span>
      <Badge kind={kind}>{words}</Badge>
      {mayRetry && (
        <Button size="small" onClick={() => onAct('retry')}>
          Try again
        </Button>
      )}
      {state === 'pending' && (
        <Button size="small" kind="quiet" onClick={() => onAct('cancel')}>
          Do not send
        </Button>
      )}
    </li>
  )
}
