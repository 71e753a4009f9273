import { useState } from 'react'
import type { MonitorReply, StopReply } from '../../../../src/protocol/api.ts'
import { ask } from '../../api/ask.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Icon } from '../../components/icon.tsx'
import { QuietLink } from '../../components/quiet-link.tsx'
import { Panel } from '../../components/screen.tsx'
import { useToasts } from '../../components/toast.tsx'
import { When } from '../../components/when.tsx'
import { shortCount } from '../../cost/money.ts'
import { isWork, useSessionName } from '../session-name.ts'
import { SubagentList } from './subagent-list.tsx'

type Turn = MonitorReply['turns'][number]

const states = { thinking: 'thinking', tools: 'using tools', retry_wait: 'waiting to try again' }

/** One turn under way, and a way to stop it. */
export function RunningTurn({ turn, onStopped }: { turn: Turn; onStopped(): void }) {
  const { session_id: session, channel, contact } = turn
  const toasts = useToasts()
  const nameOf = useSessionName()
  const [isBusy, setIsBusy] = useState(false)
  const name = nameOf(session, channel, contact)

  async function stop(): Promise<void> {
    setIsBusy(true)
    try {
      // A build is stopped as a whole; stopping its turn alone would have it begin another.
      const path = channel === 'builder' ? `/builds/${encodeURIComponent(contact)}/stop` : `/sessions/${session}/stop`
      const { stopped } = await ask<Partial<StopReply>>(path, { body: {} })
      toasts.done(stopped === false ? 'It was over already.' : 'Stopped.')
      onStopped()
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  return (
    <Panel>
      <div className="flex flex-wrap items-start justify-between gap-3">
        <div className="min-w-0 flex-1">
          <h3 className="font-medium">{name}</h3>
          <p className="mt-0.5 flex flex-wrap items-center gap-x-3 gap-y-1 text-sm text-soft">
            <Badge kind={turn.state === 'retry_wait' ? 'warn' : 'busy'}>{states[turn.state]}</Badge>
            <span>
              began <When at={turn.started_at} />
            </span>
            <span>step {turn.round}</span>
            <span>{turn.model}</span>
            <span>
              {shortCount(turn.input_tokens)} sent, {shortCount(turn.output_tokens)} received
            </span>
          </p>
        </div>
        <Button kind="danger" isBusy={isBusy} aria-label={`Stop ${name}`} onClick={() => void stop()}>
          <Icon name="stop" size={16} /> Stop
        </Button>
      </div>
      {turn.tools.length > 0 && (
        <ul aria-label="Tools in use" className="mt-2 flex flex-wrap gap-1.5">
          {turn.tools.map((tool, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: one tool may run several times at once.
            <li key={index} className="rounded-md bg-sunken px-2 py-0.5 font-mono text-xs">
              {tool}
            </li>
          ))}
        </ul>
      )}
      {!isWork(channel) && <SubagentList sessionId={session} />}
      <p className="mt-3 flex flex-wrap gap-4 text-sm">
        {!isWork(channel) && <QuietLink href={`/talk/${session}`}>Conversation</QuietLink>}
        <QuietLink href={`/monitor/turn/${session}/${turn.turn_id}`}>Timeline</QuietLink>
        <QuietLink href={`/monitor/context/${session}`}>Context window</QuietLink>
      </p>
    </Panel>
  )
}
