import type { SchedulesReply } from '../../../src/protocol/schedule-api.ts'
import { useAnswer } from '../api/use-answer.ts'
import { Button } from '../components/button.tsx'
import { Icon } from '../components/icon.tsx'
import { Empty, Failure } from '../components/notice.tsx'
import { Screen } from '../components/screen.tsx'
import { go, usePlace } from '../shell/router.ts'
import { OneSchedule } from './one-schedule.tsx'
import { ScheduleForm } from './schedule-form.tsx'
import { ScheduleRow } from './schedule-row.tsx'

/** `/schedules`, `/schedules/new` and `/schedules/<id>`. */
export function SchedulesScreen() {
  const { path } = usePlace()
  const id = /^\/schedules\/([\w-]+)$/.exec(path)?.[1]
  if (id === 'new') return <ScheduleForm />
  return id === undefined ? <ScheduleList /> : <OneSchedule key={id} id={id} />
}

function ScheduleList() {
  const { query } = usePlace()
  const showsAll = query.get('all') === 'true'
  const { data, error, refresh } = useAnswer<SchedulesReply>('/schedules', {
    query: { all: showsAll },
    everyMs: 20_000,
  })
  return (
    <Screen
      title="Schedules"
      intro="Messages that are sent later, once or again and again. Each begins a turn in its conversation, as if you had typed it."
      actions={
        <Button kind="main" onClick={() => go('/schedules/new')}>
          <Icon name="plus" size={16} /> New schedule
        </Button>
      }
    >
      <label className="mb-4 flex min-h-9 items-center gap-2 text-sm text-soft">
        <input
          type="checkbox"
          checked={showsAll}
          onChange={(event) => go(event.target.checked ? '/schedules?all=true' : '/schedules', { replace: true })}
        />
        Show what is over, too
      </label>
      {error && <Failure error={error} onRetry={refresh} />}
      {data?.schedules.length === 0 && (
        <Empty title="Nothing is planned">
          Say “Remind me on Friday at nine to call the dentist” in a conversation, or make a schedule here.
        </Empty>
      )}
      <ul className="space-y-2">
        {data?.schedules.map((schedule) => (
          <ScheduleRow key={schedule.id} schedule={schedule} />
        ))}
      </ul>
    </Screen>
  )
}
