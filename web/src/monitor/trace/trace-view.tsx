import { useEffect, useMemo, useState } from 'react'
import type { TraceReply } from '../../../../src/protocol/trace-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Empty, Failure } from '../../components/notice.tsx'
import { QuietLink } from '../../components/quiet-link.tsx'
import { Panel, Screen, Section } from '../../components/screen.tsx'
import { OtherCalls } from './other-calls.tsx'
import { timelineOf } from './timeline.ts'
import { TimelineRows } from './timeline-rows.tsx'
import { TraceFacts } from './trace-facts.tsx'

/** How a turn went: every call of the model, every tool and every wait on one line of time. Without a turn: the newest. */
export function TraceView({ sessionId, turnId }: { sessionId: string; turnId: string | undefined }) {
  const [isRunning, setIsRunning] = useState(false)
  const answer = useAnswer<TraceReply>(`/sessions/${sessionId}/trace`, {
    query: { turn: turnId },
    ...(isRunning && { everyMs: 1_000 }),
  })
  const trace = answer.data
  useEffect(() => setIsRunning(typeof trace?.turn_id === 'string' && trace.ended_at === null), [trace])
  const timeline = useMemo(() => trace && timelineOf(trace, Date.now()), [trace])
  return (
    <Screen
      title="Timeline of a turn"
      intro={trace?.message}
      actions={
        <span className="flex flex-wrap gap-4 text-sm">
          <QuietLink href="/monitor">Monitor</QuietLink>
          <QuietLink href={`/talk/${sessionId}`}>Conversation</QuietLink>
          <QuietLink href={`/monitor/context/${sessionId}`}>Context window</QuietLink>
        </span>
      }
    >
      {answer.error && <Failure error={answer.error} onRetry={answer.refresh} />}
      {trace?.turn_id === null && (
        <Empty title="Nothing has happened here yet">Once something is said, every step of the answer is listed.</Empty>
      )}
      {trace && timeline && trace.turn_id !== null && (
        <>
          <TraceFacts trace={trace} tookMs={timeline.tookMs} />
          <Section title="Steps">
            <Panel>
              <TimelineRows timeline={timeline} />
            </Panel>
          </Section>
          {trace.other_calls.length > 0 && (
            <Section title="Also counted to this turn">
              <OtherCalls calls={trace.other_calls} />
            </Section>
          )}
        </>
      )}
    </Screen>
  )
}
