import { type FormEvent, useEffect, useState } from 'react'
import { call, type Reply } from '../api/call.ts'
import { useSessions } from '../chat/sessions.ts'
import { Button } from '../components/controls.tsx'
import { Notice, useToasts } from '../components/feedback.tsx'
import { SelectField, TextArea, TextField } from '../components/forms.tsx'
import { Panel, Screen } from '../components/layout.tsx'
import { useWho } from '../shell/account.tsx'
import { go } from '../shell/router.tsx'
import { calendarNames } from '../strings/format.ts'
import { t } from '../strings/strings.ts'
import { cronWords, type Repeat, type RepeatKind, startRepeat, toCron } from './repeat.ts'
import { momentIn, ownZone } from './schedules-screen.tsx'

/** The next runs for the typed time. */
function PreviewTimes({ reply, problem }: { reply?: Reply<'schedules.preview'>; problem?: string }) {
  const words = reply && reply.kind !== 'once' ? cronWords(reply.expression) : undefined
  return (
    <div role="status" className="text-sm">
      {problem && <p className="text-bad">{problem}</p>}
      {reply && (
        <>
          <p className="text-soft">{words ? t.schedules.runsNext(words) : t.schedules.nextRuns}</p>
          <ol className="mt-1">
            {reply.times.map((time) => (
              <li key={time}>{momentIn(time, reply.time_zone)}</li>
            ))}
          </ol>
        </>
      )}
    </div>
  )
}

const kinds: { value: RepeatKind; label: string }[] = [
  { value: 'daily', label: t.schedules.everyDayTitle },
  { value: 'weekdays', label: t.schedules.weekdays },
  { value: 'weekly', label: t.schedules.everyWeek },
  { value: 'monthly', label: t.schedules.everyMonth },
  { value: 'minutes', label: t.schedules.everyFewMinutes },
  { value: 'cron', label: t.schedules.cronExpression },
]
const weekdays = calendarNames('weekday')

function RepeatFields({ repeat, onChange }: { repeat: Repeat; onChange(repeat: Repeat): void }) {
  const { kind } = repeat
  const put = (change: Partial<Repeat>) => onChange({ ...repeat, ...change })
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <SelectField
        label={t.schedules.repeat}
        choices={kinds}
        value={kind}
        onChange={(value) => put({ kind: value as RepeatKind })}
      />
      {kind === 'weekly' && (
        <SelectField
          label={t.schedules.day}
          choices={weekdays.map((label, index) => ({ value: String(index), label }))}
          value={repeat.weekday}
          onChange={(weekday) => put({ weekday })}
        />
      )}
      {kind === 'monthly' && (
        <TextField
          label={t.schedules.dayOfMonth}
          type="number"
          min={1}
          max={31}
          value={repeat.day}
          onChange={(event) => put({ day: event.target.value })}
        />
      )}
      {kind === 'minutes' && (
        <TextField
          label={t.schedules.minutes}
          type="number"
          min={1}
          max={1440}
          value={repeat.minutes}
          onChange={(event) => put({ minutes: event.target.value })}
        />
      )}
      {kind === 'cron' && (
        <TextField
          label={t.schedules.expression}
          placeholder="0 9 * * 1-5"
          hint={t.schedules.minuteHourDayMonth}
          spellCheck={false}
          value={repeat.cron}
          onChange={(event) => put({ cron: event.target.value })}
        />
      )}
      {kind !== 'minutes' && kind !== 'cron' && (
        <TextField
          label={t.schedules.time}
          type="time"
          value={repeat.time}
          onChange={(event) => put({ time: event.target.value })}
        />
      )}
    </div>
  )
}

type PlannedTime = { at: string } | { cron: string } | { every: string }

interface Preview {
  reply?: Reply<'schedules.preview'>
  problem?: string
}

/** The next runs for the typed time. No request while the field is empty. */
function usePreview(time: PlannedTime, timeZone: string): Preview {
  const [preview, setPreview] = useState<Preview>({})
  const typed = Object.values(time)[0]?.trim() ?? ''
  const key = JSON.stringify(time)

  useEffect(() => {
    if (typed === '') return setPreview({})
    const controller = new AbortController()
    const timer = setTimeout(() => {
      call(
        'schedules.preview',
        { ...(JSON.parse(key) as PlannedTime), time_zone: timeZone },
        { signal: controller.signal },
      ).then(
        (reply) => setPreview({ reply }),
        (error: Error) => !controller.signal.aborted && setPreview({ problem: error.message }),
      )
    }, 250)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [key, typed, timeZone])

  return preview
}

type Kind = 'once' | 'repeat' | 'heartbeat'

export function ScheduleForm() {
  const toasts = useToasts()
  const { is_owner } = useWho()
  const sessions = useSessions().filter(({ state }) => state === 'active')
  const [kind, setKind] = useState<Kind>('once')
  const [at, setAt] = useState('')
  const [repeat, setRepeat] = useState<Repeat>(startRepeat)
  const [every, setEvery] = useState('30m')
  const [message, setMessage] = useState('')
  const [name, setName] = useState('')
  const [session, setSession] = useState('main')
  const [timeZone, setTimeZone] = useState(ownZone)
  const [catchUp, setCatchUp] = useState<Reply<'schedules.add'>['catch_up']>('latest')
  const [isBusy, setIsBusy] = useState(false)
  const time: PlannedTime = kind === 'once' ? { at } : kind === 'repeat' ? { cron: toCron(repeat) } : { every }
  const preview = usePreview(time, timeZone)
  const isComplete = preview.reply !== undefined && (kind === 'heartbeat' || message.trim() !== '')

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    setIsBusy(true)
    const place = { session, time_zone: timeZone, catch_up: catchUp, ...(name.trim() !== '' && { name }) }
    try {
      const made =
        kind === 'heartbeat'
          ? await call('schedules.heartbeat', { every, ...place })
          : await call('schedules.add', { ...time, message, ...place })
      toasts.done(t.schedules.scheduleCreated)
      go(`/schedules/${made.id}`, { replace: true })
    } catch (error) {
      toasts.failed(error)
      setIsBusy(false)
    }
  }

  const kinds: [Kind, string][] = [
    ['once', t.schedules.once],
    ['repeat', t.schedules.repeating],
    ...(is_owner ? [['heartbeat', t.schedules.heartbeat] as [Kind, string]] : []),
  ]
  const places = [
    ...(sessions.some(({ contact }) => contact === 'main') ? [] : [{ value: 'main', label: 'main' }]),
    ...sessions.map((one) => ({ value: one.contact === 'main' ? 'main' : one.id, label: one.title ?? one.contact })),
  ]

  return (
    <Screen
      title={t.schedules.newSchedule}
      intro={t.schedules.messageSentFamiliarLater}
      back={{ href: '/schedules', label: t.schedules.allSchedules }}
    >
      <form className="max-w-2xl space-y-5" onSubmit={(event) => void submit(event)}>
        <fieldset>
          <legend className="mb-1 text-sm font-medium">{t.schedules.type}</legend>
          <div className="flex flex-wrap gap-x-5 gap-y-1">
            {kinds.map(([value, label]) => (
              <label key={value} className="flex min-h-9 items-center gap-2">
                <input type="radio" name="kind" checked={kind === value} onChange={() => setKind(value)} />
                {label}
              </label>
            ))}
          </div>
        </fieldset>
        <Panel className="space-y-4">
          {kind === 'once' && (
            <TextField
              label={t.common.when}
              placeholder={t.schedules.tomorrow900}
              hint={t.schedules.example20MinutesFriday}
              value={at}
              onChange={(event) => setAt(event.target.value)}
            />
          )}
          {kind === 'repeat' && <RepeatFields repeat={repeat} onChange={setRepeat} />}
          {kind === 'heartbeat' && (
            <TextField
              label={t.schedules.everyTitle}
              hint={t.schedules.example30m2hEach}
              value={every}
              onChange={(event) => setEvery(event.target.value)}
            />
          )}
          <PreviewTimes {...preview} />
        </Panel>
        {kind === 'heartbeat' ? (
          <Notice>{t.schedules.sendsContentHeartbeatMd}</Notice>
        ) : (
          <TextArea
            label={t.common.message}
            required
            maxLength={20_000}
            placeholder={t.schedules.whatMyCalendarToday}
            value={message}
            onChange={(event) => setMessage(event.target.value)}
          />
        )}
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label={t.common.name}
            hint={t.schedules.optionalDefaultsFirstWords}
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <SelectField label={t.common.conversation} choices={places} value={session} onChange={setSession} />
          <TextField
            label={t.schedules.timeZone}
            value={timeZone}
            onChange={(event) => setTimeZone(event.target.value)}
          />
          <SelectField
            label={t.schedules.ifFamiliarOff}
            choices={[
              { value: 'latest', label: t.schedules.sendTheLatest },
              { value: 'all', label: t.schedules.sendAll },
              { value: 'none', label: t.schedules.skip },
            ]}
            value={catchUp}
            onChange={(value) => setCatchUp(value as Reply<'schedules.add'>['catch_up'])}
          />
        </div>
        <Button type="submit" kind="main" isBusy={isBusy} disabled={!isComplete}>
          {t.common.create}
        </Button>
      </form>
    </Screen>
  )
}
