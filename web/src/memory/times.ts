const day = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const longDay = new Intl.DateTimeFormat(undefined, { dateStyle: 'full' })
const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const hour = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' })

export const formatDay = (time: string) => read(time, day)
export const formatLongDay = (time: string) => read(time, longDay)
export const formatMoment = (time: string) => read(time, moment)
export const formatHour = (time: string) => read(time, hour)

/** An imported memory may lie in a year that no calendar has: then it is shown as it was given. */
function read(time: string, format: Intl.DateTimeFormat): string {
  const at = Date.parse(time)
  return Number.isNaN(at) ? time : format.format(at)
}

/** `2026-11-15`, by the clock of whoever looks. */
export function dayKey(time: string | Date): string {
  const at = new Date(time)
  if (Number.isNaN(at.getTime())) return String(time).slice(0, 10)
  const two = (part: number) => String(part).padStart(2, '0')
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
}

/** The first moment of the day that lies so many days back, as the daemon reads it. */
export function startOfDay(daysBack = 0, now = new Date()): string {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() - daysBack).toISOString()
}
