import { SelectField, TextField } from '../components/field.tsx'
import type { Repeat, RepeatKind } from './repeat.ts'

const kinds: { value: RepeatKind; label: string }[] = [
  { value: 'daily', label: 'Every day' },
  { value: 'weekdays', label: 'On weekdays' },
  { value: 'weekly', label: 'Every week' },
  { value: 'monthly', label: 'Every month' },
  { value: 'minutes', label: 'Every so many minutes' },
  { value: 'cron', label: 'As cron writes it' },
]
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

export function RepeatFields({ repeat, onChange }: { repeat: Repeat; onChange(repeat: Repeat): void }) {
  const { kind } = repeat
  const put = (change: Partial<Repeat>) => onChange({ ...repeat, ...change })
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <SelectField
        label="Repeat"
        choices={kinds}
        value={kind}
        onChange={(value) => put({ kind: value as RepeatKind })}
      />
      {kind === 'weekly' && (
        <SelectField
          label="Day"
          choices={weekdays.map((label, index) => ({ value: String(index), label }))}
          value={repeat.weekday}
          onChange={(weekday) => put({ weekday })}
        />
      )}
      {kind === 'monthly' && (
        <TextField
          label="Day of the month"
          type="number"
          min={1}
          max={31}
          value={repeat.day}
          onChange={(event) => put({ day: event.target.value })}
        />
      )}
      {kind === 'minutes' && (
        <TextField
          label="Minutes"
          type="number"
          min={1}
          max={1440}
          value={repeat.minutes}
          onChange={(event) => put({ minutes: event.target.value })}
        />
      )}
      {kind === 'cron' && (
        <TextField
          label="Expression"
          placeholder="0 9 * * 1-5"
          hint="Minute, hour, day of the month, month, day of the week."
          spellCheck={false}
          value={repeat.cron}
          onChange={(event) => put({ cron: event.target.value })}
        />
      )}
      {kind !== 'minutes' && kind !== 'cron' && (
        <TextField
          label="Time"
          type="time"
          value={repeat.time}
          onChange={(event) => put({ time: event.target.value })}
        />
      )}
    </div>
  )
}
