import { type FormEvent, useState } from 'react'
import type { ScheduleReply } from '../../../src/protocol/schedule-api.ts'
import { ask } from '../api/ask.ts'
import { Button } from '../components/button.tsx'
import { SelectField, TextArea, TextField } from '../components/field.tsx'
import { Notice } from '../components/notice.tsx'
import { Panel, Screen } from '../components/screen.tsx'
import { useToasts } from '../components/toast.tsx'
import { go } from '../shell/router.ts'
import { useWho } from '../shell/who.ts'
import { useSessions } from '../talk/sessions-store.ts'
import { ownZone } from './moment.ts'
import { PreviewTimes } from './preview-times.tsx'
import { type Repeat, startRepeat, toCron } from './repeat.ts'
import { RepeatFields } from './repeat-fields.tsx'
import { type PlannedTime, usePreview } from './use-preview.ts'

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
  const [catchUp, setCatchUp] = useState('latest')
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
          ? await ask<ScheduleReply>('/schedules/heartbeat', { body: { every, ...place } })
          : await ask<ScheduleReply>('/schedules', { body: { ...time, message, ...place } })
      toasts.done('Planned.')
      go(`/schedules/${made.id}`, { replace: true })
    } catch (error) {
      toasts.failed(error)
      setIsBusy(false)
    }
  }

  const kinds: [Kind, string][] = [
    ['once', 'Once'],
    ['repeat', 'Again and again'],
    ...(is_owner ? [['heartbeat', 'Heartbeat'] as [Kind, string]] : []),
  ]
  const places = [
    ...(sessions.some(({ contact }) => contact === 'main') ? [] : [{ value: 'main', label: 'main' }]),
    ...sessions.map((one) => ({ value: one.contact === 'main' ? 'main' : one.id, label: one.title ?? one.contact })),
  ]

  return (
    <Screen
      title="New schedule"
      intro="A message that Familiar gets later, as if you had typed it then."
      back={{ href: '/schedules', label: 'All schedules' }}
    >
      <form className="max-w-2xl space-y-5" onSubmit={(event) => void submit(event)}>
        <fieldset>
          <legend className="mb-1 text-sm font-medium">How often</legend>
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
              label="When"
              placeholder="tomorrow at 9:00"
              hint="In words or as a date: “in 20 minutes”, “friday at 18:30”, “2027-01-05 09:00”."
              value={at}
              onChange={(event) => setAt(event.target.value)}
            />
          )}
          {kind === 'repeat' && <RepeatFields repeat={repeat} onChange={setRepeat} />}
          {kind === 'heartbeat' && (
            <TextField
              label="Every"
              hint="Such as 30m or 2h. Each one is a call of a model."
              value={every}
              onChange={(event) => setEvery(event.target.value)}
            />
          )}
          <PreviewTimes {...preview} />
        </Panel>
        {kind === 'heartbeat' ? (
          <Notice>What HEARTBEAT.md in the workspace says at that time is sent.</Notice>
        ) : (
          <TextArea
            label="Message"
            required
            maxLength={20_000}
            placeholder="Tell me what is in my calendar today"
            value={message}
            onChange={(event) => setMessage(event.target.value)}
          />
        )}
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Name"
            hint="Where there is none, the beginning of the message."
            maxLength={100}
            value={name}
            onChange={(event) => setName(event.target.value)}
          />
          <SelectField label="Conversation" choices={places} value={session} onChange={setSession} />
          <TextField label="Time zone" value={timeZone} onChange={(event) => setTimeZone(event.target.value)} />
          <SelectField
            label="Where Familiar was not running"
            choices={[
              { value: 'latest', label: 'Send the newest late' },
              { value: 'all', label: 'Send all of them late' },
              { value: 'none', label: 'Send nothing late' },
            ]}
            value={catchUp}
            onChange={setCatchUp}
          />
        </div>
        <Button type="submit" kind="main" isBusy={isBusy} disabled={!isComplete}>
          Plan it
        </Button>
      </form>
    </Screen>
  )
}
