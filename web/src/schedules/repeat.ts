export type RepeatKind = 'daily' | 'weekdays' | 'weekly' | 'monthly' | 'minutes' | 'cron'

/** What somebody has chosen so far; whatever the kind does not need stays as it was. */
export interface Repeat {
  kind: RepeatKind
  /** `09:00`. */
  time: string
  /** From Sunday, 0. */
  weekday: string
  day: string
  minutes: string
  cron: string
}

export const startRepeat: Repeat = { kind: 'daily', time: '09:00', weekday: '1', day: '1', minutes: '30', cron: '' }

/** As cron writes it; empty where something is still missing. */
export function toCron({ kind, time, weekday, day, minutes, cron }: Repeat): string {
  if (kind === 'cron') return cron
  if (kind === 'minutes') return /^\d+$/.test(minutes) ? `*/${minutes}` : ''
  const [, hour, minute] = /^(\d\d):(\d\d)/.exec(time) ?? []
  if (hour === undefined || minute === undefined) return ''
  const at = `${Number(minute)} ${Number(hour)}`
  switch (kind) {
    case 'daily':
      return `${at} * * *`
    case 'weekdays':
      return `${at} * * 1-5`
    case 'weekly':
      return `${at} * * ${weekday}`
    case 'monthly':
      return /^\d+$/.test(day) ? `${at} ${day} * *` : ''
  }
}
