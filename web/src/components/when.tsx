/** A moment: how long ago, and on hovering when exactly. */
export function When({ at }: { at: string }) {
  const time = new Date(at)
  return (
    <time dateTime={at} title={time.toLocaleString()} className="whitespace-nowrap">
      {timeAgo(time.getTime(), Date.now())}
    </time>
  )
}

const steps: [seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [60, 'second'],
  [3_600, 'minute'],
  [86_400, 'hour'],
  [604_800, 'day'],
  [2_629_800, 'week'],
  [31_557_600, 'month'],
]
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })

export function timeAgo(at: number, now: number): string {
  const seconds = Math.round((at - now) / 1_000)
  const place = steps.findIndex(([most]) => Math.abs(seconds) < most)
  const unit = steps[place]?.[1] ?? 'year'
  const size = place < 0 ? 31_557_600 : place === 0 ? 1 : (steps[place - 1]?.[0] ?? 1)
  return relative.format(Math.round(seconds / size), unit)
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  return ms < 60_000
    ? `${(ms / 1_000).toFixed(1)} s`
    : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`
}
