import type { OutboxReply } from '../../../../src/protocol/outbox-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { SelectField } from '../../components/field.tsx'
import { Empty, Failure } from '../../components/notice.tsx'
import { Section } from '../../components/screen.tsx'
import { go, usePlace } from '../../shell/router.ts'
import { OutboxItem } from './outbox-item.tsx'
import { type OutboxState, outboxStates } from './outbox-states.ts'

/** What goes out of the house by other ways than this page, and what became of it. */
export function OutboxSection() {
  const { query } = usePlace()
  const chosen = outboxStates.find(({ state }) => state === query.get('outbox'))?.state
  const outbox = useAnswer<OutboxReply>('/outbox', { query: { state: chosen, limit: 25 }, everyMs: 5_000 })
  const counts = outbox.data?.counts
  const countOf = (state: OutboxState) => counts?.[state] ?? 0
  const all = outboxStates.reduce((sum, { state }) => sum + countOf(state), 0)
  const choices = [
    { value: '', label: `Everything (${all})` },
    ...outboxStates.map(({ state, label }) => ({ value: state, label: `${label} (${countOf(state)})` })),
  ]
  const choose = (value: string) => go(value === '' ? '/monitor' : `/monitor?outbox=${value}`, { replace: true })
  return (
    <Section
      title="Outbox"
      actions={
        all > 0 && <SelectField label="Show" isLabelHidden choices={choices} value={chosen ?? ''} onChange={choose} />
      }
    >
      {outbox.error && <Failure error={outbox.error} onRetry={outbox.refresh} />}
      {outbox.data?.items.length === 0 && (
        <Empty title={chosen === undefined ? 'Nothing went out yet' : 'Nothing in this state'}>
          Replies to Telegram, webhooks and other channels pass through here. Each goes out once; what fails is tried
          again.
        </Empty>
      )}
      <ul className="divide-y divide-line">
        {outbox.data?.items.map((item) => (
          <li key={item.id} className="py-2.5">
            <OutboxItem item={item} onChanged={outbox.refresh} />
          </li>
        ))}
      </ul>
    </Section>
  )
}
