import type { MonitorReply, StatusReply } from '../../../../src/protocol/api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Badge, type BadgeKind } from '../../components/badge.tsx'
import { Empty, Failure } from '../../components/notice.tsx'
import { Screen, Section } from '../../components/screen.tsx'
import { Health } from './health.tsx'
import { OutboxSection } from './outbox-section.tsx'
import { RunningTurn } from './running-turn.tsx'
import { WindowList } from './window-list.tsx'

const states: Record<MonitorReply['state'], { text: string; kind: BadgeKind }> = {
  idle: { text: 'Idle', kind: 'good' },
  thinking: { text: 'Thinking', kind: 'busy' },
  tools: { text: 'Using tools', kind: 'busy' },
  retry_wait: { text: 'Waiting for a model', kind: 'warn' },
}

export function LiveView() {
  const monitor = useAnswer<MonitorReply>('/monitor', { everyMs: 1_500 })
  const status = useAnswer<StatusReply>('/status', { everyMs: 5_000 })
  const waiting = status.data?.stats?.messages_waiting ?? 0
  const state = monitor.data && states[monitor.data.state]
  return (
    <Screen
      title="Monitor"
      intro="What Familiar does at this moment, what waits, and what went out."
      actions={
        <span role="status" className="flex flex-wrap gap-2">
          {state && <Badge kind={state.kind}>{state.text}</Badge>}
          {waiting > 0 && (
            <Badge kind="warn">
              {waiting} {waiting === 1 ? 'message waits' : 'messages wait'}
            </Badge>
          )}
        </span>
      }
    >
      <Section title="Running now">
        {monitor.error && <Failure error={monitor.error} onRetry={monitor.refresh} />}
        {monitor.data?.turns.length === 0 && (
          <Empty title="Nothing runs">
            Turns appear here while they run, whoever began them: you, a schedule, a webhook, a sub-agent.
          </Empty>
        )}
        <ul className="space-y-3">
          {monitor.data?.turns.map((turn) => (
            <li key={turn.turn_id}>
              <RunningTurn turn={turn} onStopped={monitor.refresh} />
            </li>
          ))}
        </ul>
      </Section>
      <OutboxSection />
      <WindowList />
      <Health status={status.data} />
    </Screen>
  )
}
