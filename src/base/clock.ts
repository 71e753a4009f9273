/** The only source of time. Tests use one that they move by hand. */
export interface Clock {
  /** Milliseconds since the epoch. Never goes back, even if the system clock does. */
  now(): number
  /** Runs `task` once after `delayMs`; the returned function cancels it. Does not keep the process alive. */
  after(delayMs: number, task: () => void): () => void
}

/** The system clock, which stands still while the system time is before the last returned value. */
export function systemClock(readTime: () => number = Date.now): Clock {
  let latest = 0
  return {
    now() {
      latest = Math.max(latest, readTime())
      return latest
    },
    after(delayMs, task) {
      const timer = setTimeout(task, delayMs)
      timer.unref()
      return () => clearTimeout(timer)
    },
  }
}

/** Resolves after `delayMs`, or rejects with the signal's reason as soon as it aborts. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    const onAbort = () => {
      cancel()
      reject(signal?.reason)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/** The delay that a `retry-after` header asks for: seconds, or a date. */
export function readRetryAfter(header: string | null | undefined, now: number): number | undefined {
  if (/^\d+(\.\d+)?$/.test(header?.trim() ?? '')) return Number(header) * 1_000
  const at = Date.parse(header ?? '')
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

export interface CalendarDay {
  year: number
  /** 1 to 12. */
  month: number
  day: number
}

const dayMs = 24 * 60 * 60 * 1_000

/** The calendar day in that zone. */
export function dayOf(at: number, timeZone: string): CalendarDay {
  const [year = 0, month = 0, day = 0] = formatsOf(timeZone).date.format(at).split('-').map(Number)
  return { year, month, day }
}

/** The last millisecond of that day in that zone. */
export function endOfDay(day: CalendarDay, timeZone: string): number {
  const midnight = Date.UTC(day.year, day.month - 1, day.day + 1)
  const before = midnight - offsetAt(midnight - dayMs, timeZone)
  const after = midnight - offsetAt(midnight + dayMs, timeZone)
  if (before === after) return before - 1
  // The clocks change around then. Some zones change at midnight: it may be skipped, or occur twice, and the first
  // counts.
  const earlier = Math.min(before, after)
  const isMidnight = earlier + offsetAt(earlier, timeZone) >= midnight
  return (isMidnight ? earlier : Math.max(before, after)) - 1
}

export function addDays({ year, month, day }: CalendarDay, days: number): CalendarDay {
  const moved = new Date(Date.UTC(year, month - 1, day + days))
  return { year: moved.getUTCFullYear(), month: moved.getUTCMonth() + 1, day: moved.getUTCDate() }
}

/** 0 is Sunday. */
export function weekdayOf({ year, month, day }: CalendarDay): number {
  return new Date(Date.UTC(year, month - 1, day)).getUTCDay()
}

export function formatDay({ year, month, day }: CalendarDay): string {
  return `${String(year).padStart(4, '0')}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`
}

/** `2026-11-15`, also at the beginning of a longer timestamp. Undefined if the day does not exist. */
export function parseDay(text: string): CalendarDay | undefined {
  const match = /^(\d{4})-(\d{2})-(\d{2})(?!\d)/.exec(text.trim())
  if (!match) return undefined
  return realDay({ year: Number(match[1]), month: Number(match[2]), day: Number(match[3]) })
}

/** Undefined for days like 30 February. */
export function realDay(day: CalendarDay): CalendarDay | undefined {
  const same = addDays(day, 0)
  return same.month === day.month && same.day === day.day ? day : undefined
}

function offsetAt(at: number, timeZone: string): number {
  const parts = formatsOf(timeZone).time.formatToParts(at)
  const part = (type: string) => Number(parts.find((candidate) => candidate.type === type)?.value)
  const local = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
  return local - Math.floor(at / 1000) * 1000
}

/** Making a format costs as much as writing a hundred dates. There are at most about six hundred zones. */
const formats = new Map<string, { date: Intl.DateTimeFormat; time: Intl.DateTimeFormat }>()

function formatsOf(timeZone: string) {
  const known = formats.get(timeZone)
  if (known) return known
  const made = {
    // Swedish dates have the format of ISO 8601.
    date: new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' }),
    time: new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    }),
  }
  formats.set(timeZone, made)
  return made
}
