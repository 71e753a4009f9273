import type { ToolCallReply, ToolCallsReply } from '../../../src/protocol/tool-api.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Badge } from '../components/badge.tsx'
import { Empty, Failure } from '../components/notice.tsx'
import { duration, When } from '../components/when.tsx'
import { Link } from '../shell/link.tsx'
import { callFigures } from './call-figures.ts'
import { FigureRow } from './figure-row.tsx'
import { outcomeNames } from './outcome-names.ts'

const callers: Record<ToolCallReply['caller'], string> = {
  turn: 'In a conversation',
  user: 'By hand',
  cron: 'By a schedule',
  webhook: 'By a webhook',
}

/** What something did: its newest calls, and what they come to. */
export function CallList({ path }: { path: string }) {
  const { data, error, refresh } = useAnswer<ToolCallsReply>(path, { query: { limit: 200 }, everyMs: 10_000 })
  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">One moment …</p>
  if (data.calls.length === 0) {
    return <Empty title="It was never called">Every call is written down here, whoever makes it.</Empty>
  }
  const { calls, failures, medianMs } = callFigures(data.calls)
  return (
    <>
      <FigureRow
        figures={[
          ['Calls', String(calls)],
          ['Failed', String(failures)],
          ['Usually takes', medianMs === null ? '–' : duration(medianMs)],
        ]}
      />
      <ul className="divide-y divide-line">
        {data.calls.map((call) => (
          <li key={call.id} className="py-2.5 text-sm">
            <p className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <Badge kind={call.outcome === 'succeeded' ? 'good' : 'bad'}>{outcomeNames[call.outcome]}</Badge>
              <When at={call.at} />
              <span className="text-soft">{duration(call.duration_ms)}</span>
              {call.session_id ? (
                <Link href={`/talk/${call.session_id}`} className="text-accent hover:underline">
                  {callers[call.caller]}
                </Link>
              ) : (
                <span className="text-soft">{callers[call.caller]}</span>
              )}
              {call.driver && <span className="text-soft">{call.driver}</span>}
            </p>
            {call.error && <p className="mt-1 whitespace-pre-wrap text-bad">{call.error}</p>}
          </li>
        ))}
      </ul>
    </>
  )
}
