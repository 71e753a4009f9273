import { useState } from 'react'
import type { ScheduleRunReply, ShownScheduleReply } from '../../../src/protocol/schedule-api.ts'
import { ask } from '../api/ask.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Badge } from '../components/badge.tsx'
import { Button } from '../components/button.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Facts } from '../components/facts.tsx'
import { Failure, Notice } from '../components/notice.tsx'
import { Panel, Screen, Section } from '../components/screen.tsx'
import { useToasts } from '../components/toast.tsx'
import { Link } from '../shell/link.tsx'
import { useSessions } from '../talk/sessions-store.ts'
import { momentIn } from './moment.ts'
import { RunList } from './run-list.tsx'
import { repeatWords } from './schedule-row.tsx'

const catchUpWords = {
  latest: 'the newest is sent late',
  all: 'all are sent late, ten at most',
  none: 'nothing is sent late',
}

export function OneSchedule({ id }: { id: string }) {
  const toasts = useToasts()
  const { data, error, refresh } = useAnswer<ShownScheduleReply>(`/schedules/${id}`, { everyMs: 10_000 })
  const [isAsking, setIsAsking] = useState(false)
  const [isBusy, setIsBusy] = useState(false)

  async function act(work: () => Promise<string>): Promise<void> {
    setIsBusy(true)
    try {
      toasts.done(await work())
    } catch (cause) {
      toasts.failed(cause)
    } finally {
      setIsBusy(false)
      setIsAsking(false)
      refresh()
    }
  }

  const runNow = () =>
    act(async () => {
      const run = await ask<ScheduleRunReply>(`/schedules/${id}/run`, { body: {} })
      return run.state === 'failed' ? `It failed: ${run.error ?? 'no reason is known'}` : 'Sent.'
    })
  const cancel = () =>
    act(async () => {
      await ask(`/schedules/${id}`, { method: 'DELETE' })
      return 'Cancelled. It does not come again.'
    })

  return (
    <Screen
      title={data?.name ?? 'Schedule'}
      back={{ href: '/schedules', label: 'All schedules' }}
      actions={
        data && (
          <>
            <Button isBusy={isBusy} disabled={data.state === 'cancelled'} onClick={() => void runNow()}>
              Run now
            </Button>
            <Button kind="danger" disabled={data.state !== 'active'} onClick={() => setIsAsking(true)}>
              Cancel it
            </Button>
          </>
        )
      }
    >
      {error && <Failure error={error} onRetry={refresh} />}
      {data && (
        <>
          <Panel className="mb-6 space-y-4">
            <Facts
              facts={[
                ['State', <State key="state" schedule={data} />],
                ['Next', data.next_at && momentIn(data.next_at, data.time_zone)],
                ['How often', repeatWords(data)],
                ['Written as', data.kind === 'once' ? null : <Code key="code" text={data.expression} />],
                ['Conversation', <Place key="place" schedule={data} />],
                ['What was missed', catchUpWords[data.catch_up]],
                ['Planned by', data.author === 'agent' ? 'the agent' : 'you'],
              ]}
            />
            {data.kind === 'heartbeat' ? (
              <Notice>
                What HEARTBEAT.md in the workspace says at that time is sent. Each one is a call of a model.
              </Notice>
            ) : (
              <div>
                <h2 className="mb-1 text-sm text-soft">Message</h2>
                <p className="whitespace-pre-wrap">{data.message}</p>
              </div>
            )}
          </Panel>
          <Section title="Runs">
            <RunList runs={data.runs} timeZone={data.time_zone} />
          </Section>
        </>
      )}
      <Dialog
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        title="Cancel this schedule?"
        description="It does not come again. What it did stays on record."
      >
        <div className="flex justify-end gap-2">
          <Button onClick={() => setIsAsking(false)}>Keep it</Button>
          <Button kind="danger" isBusy={isBusy} onClick={() => void cancel()}>
            Cancel it
          </Button>
        </div>
      </Dialog>
    </Screen>
  )
}

/** Leads there, once something was said in it. */
function Place({ schedule: { channel, session } }: { schedule: ShownScheduleReply }) {
  const place = useSessions().find((one) => one.channel === channel && one.contact === session)
  if (!place) return session
  return (
    <Link href={`/talk/${place.id}`} className="text-accent hover:underline">
      {place.title ?? session}
    </Link>
  )
}

function Code({ text }: { text: string }) {
  return <code className="font-mono">{text}</code>
}

function State({ schedule: { state } }: { schedule: ShownScheduleReply }) {
  if (state === 'active') return <Badge kind="good">planned</Badge>
  return <Badge>{state === 'done' ? 'over' : 'cancelled'}</Badge>
}
