const dayMs = 86_400_000
const furthest = 8_640_000_000_000_000

/** ISO 8601 in UTC, to the millisecond. */
export function timeText(at: number): string {
  return new Date(Math.min(furthest, Math.max(-furthest, Math.trunc(at)))).toISOString()
}

/** The same, but a whole day is only its date. */
export function shortTimeText(at: number): string {
  return at === startOfDay(at) ? dayText(at) : timeText(at)
}

/** `2026-11-15` */
export function dayText(at: number): string {
  return timeText(at).replace(/T.*/, '')
}

export function startOfDay(at: number): number {
  return Math.floor(at / dayMs) * dayMs
}

export function endOfDay(at: number): number {
  return startOfDay(at) + dayMs
}

// Not what else Date.parse makes of texts: "1" would be the year 2001, in the time zone of this machine.
const isoTime = /^(?:\d{4}|[+-]\d{6})-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d))?$/

/** A date or a time with its zone. Undefined for what is neither. */
export function timeFromText(text: string): number | undefined {
  const at = isoTime.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}
