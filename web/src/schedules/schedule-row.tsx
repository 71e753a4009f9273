import type { ListedScheduleReply } from '../../../src/protocol/schedule-api.ts'
import { Badge } from '../components/badge.tsx'
import { Icon } from '../components/icon.tsx'
import { When } from '../components/when.tsx'
import { Link } from '../shell/link.tsx'
import { cronWords } from './cron-words.ts'
import { momentIn } from './moment.ts'
import { RunState } from './run-state.tsx'

export function ScheduleRow({ schedule }: { schedule: ListedScheduleReply }) {
  const { id, name, state, next_at, time_zone, session, last_run, author } = schedule
  return (
    <li>
      <Link
        href={`/schedules/${id}`}
        className="flex gap-3 rounded-xl border border-line bg-raised px-4 py-3 hover:border-accent"
      >
        <span className="mt-0.5 text-soft">
          <Icon name={schedule.kind === 'once' ? 'calendar' : schedule.kind === 'heartbeat' ? 'bolt' : 'repeat'} />
        </span>
        <span className="min-w-0 flex-1">
          <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <span className="min-w-0 font-medium">{name}</span>
            {state !== 'active' && <Badge>{state === 'done' ? 'over' : 'cancelled'}</Badge>}
            {author === 'agent' && <Badge>planned by the agent</Badge>}
            {last_run && <RunState state={last_run.state} />}
          </span>
          <span className="block text-sm text-soft">
            {[repeatWords(schedule), next_at && momentIn(next_at, time_zone), `in “${session}”`]
              .filter(Boolean)
              .join(' · ')}
          </span>
        </span>
        {next_at && (
          <span className="shrink-0 text-sm text-soft max-sm:hidden">
            <When at={next_at} />
          </span>
        )}
      </Link>
    </li>
  )
}

/** How often, in words where there are some. */
export function repeatWords({ kind, expression }: Pick<ListedScheduleReply, 'kind' | 'expression'>): string {
  return kind === 'once' ? 'once' : (cronWords(expression) ?? expression)
}
