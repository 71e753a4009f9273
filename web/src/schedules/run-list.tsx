import type { ScheduleRunReply } from '../../../src/protocol/schedule-api.ts'
import { Empty } from '../components/notice.tsx'
import { momentIn } from './moment.ts'
import { RunState } from './run-state.tsx'

/** When it came, newest first, with what was late or missed and why. */
export function RunList({ runs, timeZone }: { runs: readonly ScheduleRunReply[]; timeZone: string }) {
  if (runs.length === 0) return <Empty title="It has not come yet" />
  return (
    <ul className="divide-y divide-line rounded-xl border border-line bg-raised">
      {runs.map((run) => (
        <li key={run.due_at} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2 text-sm">
          <span className="min-w-0 flex-1">{momentIn(run.due_at, timeZone)}</span>
          <RunState state={run.state} />
          {run.error && <span className="w-full text-soft">{run.error}</span>}
        </li>
      ))}
    </ul>
  )
}
