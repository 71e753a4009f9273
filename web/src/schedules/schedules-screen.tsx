import { useState } from 'react'
import type { ListedScheduleReply, ScheduleRunReply } from '../../../src/protocol/schedules.ts'
import { call, type Reply, useAnswer } from '../api/call.ts'
import { useSessions } from '../chat/sessions.ts'
import { Badge, type BadgeKind, Button } from '../components/controls.tsx'
import { Empty, Failure, Notice, useToasts } from '../components/feedback.tsx'
import { Dialog } from '../components/forms.tsx'
import { Icon } from '../components/icon.tsx'
import { FieldList, Panel, Screen, Section, When } from '../components/layout.tsx'
import { go, Link, usePlace } from '../shell/router.tsx'
import { formatDate } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { cronWords } from './repeat.ts'
import { ScheduleForm } from './schedule-form.tsx'

/** A moment as the clocks of that place show it, with the place where it is not the reader's own. */
export function momentIn(at: string | number, timeZone: string, own = ownZone()): string {
  const text = formatDate(at, { dateStyle: 'full', timeStyle: 'short', timeZone })
  return timeZone === own ? text : `${text} (${timeZone})`
}

export function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}

const kinds: Record<ScheduleRunReply['state'], [kind: BadgeKind, words: string]> = {
  begun: ['busy', t.schedules.sending],
  delivered: ['good', t.schedules.sent],
  late: ['warn', t.schedules.sentLate],
  missed: ['warn', t.schedules.missed],
  failed: ['bad', t.schedules.failed],
}

function RunState({ state }: { state: ScheduleRunReply['state'] }) {
  const [kind, words] = kinds[state]
  return <Badge kind={kind}>{words}</Badge>
}

/** The runs, newest first, with the reason for late and missed ones. */
function RunList({ runs, timeZone }: { runs: readonly ScheduleRunReply[]; timeZone: string }) {
  if (runs.length === 0) return <Empty title={t.schedules.noRunsYet} />
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

function ScheduleRow({ schedule }: { schedule: ListedScheduleReply }) {
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
            {state !== 'active' && <Badge>{state === 'done' ? t.schedules.finished : t.common.canceled}</Badge>}
            {author === 'agent' && <Badge>{t.schedules.createdByFamiliar}</Badge>}
            {last_run && <RunState state={last_run.state} />}
          </span>
          <span className="block text-sm text-soft">
            {[repeatWords(schedule), next_at && momentIn(next_at, time_zone), t.schedules.in(session)]
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
function repeatWords({ kind, expression }: Pick<ListedScheduleReply, 'kind' | 'expression'>): string {
  const words = kind === 'once' ? t.schedules.onceLower : (cronWords(expression) ?? expression)
  return words.charAt(0).toLocaleUpperCase() + words.slice(1)
}

const catchUpWords = {
  latest: t.schedules.sendTheLatestLower,
  all: t.schedules.sendAllMostTen,
  none: t.schedules.skipLower,
}

function OneSchedule({ id }: { id: string }) {
  const toasts = useToasts()
  const { data, error, refresh } = useAnswer('schedules.show', { id }, { everyMs: 10_000 })
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
      const run = await call('schedules.run', { id })
      return run.state === 'failed' ? t.schedules.theRunFailed(run.error ?? t.schedules.unknownReason) : t.common.sent
    })
  const cancel = () =>
    act(async () => {
      await call('schedules.cancel', { id })
      return t.schedules.scheduleCanceled
    })

  return (
    <Screen
      title={data?.name ?? t.schedules.schedule}
      back={{ href: '/schedules', label: t.schedules.allSchedules }}
      actions={
        data && (
          <>
            <Button isBusy={isBusy} disabled={data.state === 'cancelled'} onClick={() => void runNow()}>
              {t.schedules.runNow}
            </Button>
            <Button kind="danger" disabled={data.state !== 'active'} onClick={() => setIsAsking(true)}>
              {t.schedules.cancelSchedule}
            </Button>
          </>
        )
      }
    >
      {error && <Failure error={error} onRetry={refresh} />}
      {data && (
        <>
          <Panel className="mb-6 space-y-4">
            <FieldList
              facts={[
                [t.common.state, <State key="state" schedule={data} />],
                [t.schedules.next, data.next_at && momentIn(data.next_at, data.time_zone)],
                [t.schedules.repeats, repeatWords(data)],
                [t.schedules.expression, data.kind === 'once' ? null : <Code key="code" text={data.expression} />],
                [t.common.conversation, <Place key="place" schedule={data} />],
                [t.schedules.missedRuns, catchUpWords[data.catch_up]],
                [t.schedules.createdBy, data.author === 'agent' ? t.common.familiar : t.schedules.you],
              ]}
            />
            {data.kind === 'heartbeat' ? (
              <Notice>{t.schedules.sendsContentHeartbeatMdTitle}</Notice>
            ) : (
              <div>
                <h2 className="mb-1 text-sm text-soft">{t.common.message}</h2>
                <p dir="auto" className="whitespace-pre-wrap">
                  {data.message}
                </p>
              </div>
            )}
          </Panel>
          <Section title={t.schedules.runs}>
            <RunList runs={data.runs} timeZone={data.time_zone} />
          </Section>
        </>
      )}
      <Dialog
        isOpen={isAsking}
        onClose={() => setIsAsking(false)}
        title={t.schedules.cancelThisSchedule}
        description={t.schedules.runAgainPastRuns}
      >
        <div className="flex justify-end gap-2">
          <Button onClick={() => setIsAsking(false)}>{t.schedules.keep}</Button>
          <Button kind="danger" isBusy={isBusy} onClick={() => void cancel()}>
            {t.schedules.cancelSchedule}
          </Button>
        </div>
      </Dialog>
    </Screen>
  )
}

/** Leads there, once something was said in it. */
function Place({ schedule: { channel, session } }: { schedule: Reply<'schedules.show'> }) {
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

function State({ schedule: { state } }: { schedule: Reply<'schedules.show'> }) {
  if (state === 'active') return <Badge kind="good">{t.schedules.scheduled}</Badge>
  return <Badge>{state === 'done' ? t.schedules.finished : t.common.canceled}</Badge>
}

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
  const { data, error, refresh } = useAnswer('schedules.list', { all: showsAll }, { everyMs: 20_000 })
  return (
    <Screen
      title={t.schedules.schedules}
      intro={t.schedules.remindersRecurringTasks}
      actions={
        <Button kind="main" onClick={() => go('/schedules/new')}>
          <Icon name="plus" size={16} /> {t.schedules.newSchedule}
        </Button>
      }
    >
      <label className="mb-4 flex min-h-9 items-center gap-2 text-sm text-soft">
        <input
          type="checkbox"
          checked={showsAll}
          onChange={(event) => go(event.target.checked ? '/schedules?all=true' : '/schedules', { replace: true })}
        />
        {t.schedules.showFinished}
      </label>
      {error && <Failure error={error} onRetry={refresh} />}
      {data?.schedules.length === 0 && (
        <Empty title={t.schedules.noSchedulesYet}>{t.schedules.sayRemindMeFriday}</Empty>
      )}
      <ul className="space-y-2">
        {data?.schedules.map((schedule) => (
          <ScheduleRow key={schedule.id} schedule={schedule} />
        ))}
      </ul>
    </Screen>
  )
}
