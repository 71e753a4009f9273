/** Local time, since that is what the person who reads it lives in. */
export function formatTime(time: string | number): string {
  const date = new Date(time)
  const two = (value: number) => String(value).padStart(2, '0')
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

export function formatDuration(milliseconds: number): string {
  const seconds = milliseconds / 1_000
  if (milliseconds < 1_000) return `${Math.round(milliseconds)} ms`
  if (seconds < 60) return `${seconds.toFixed(1)} s`
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`
  if (seconds < 86_400) return `${Math.floor(seconds / 3_600)} h ${Math.floor((seconds % 3_600) / 60)} min`
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3_600)} h`
}

export function formatCount(count: number): string {
  return count.toLocaleString('en-US')
}

export function formatBytes(bytes: number): string {
  const units = ['bytes', 'KB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000
    unit += 1
  }
  return unit === 0 ? `${value} bytes` : `${value.toFixed(1)} ${units[unit]}`
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`
}

/** Small sums matter here: four places, until cents are what counts. */
export function formatUsd(amount: number | null): string {
  if (amount === null) return 'unpriced'
  return `$${amount.toFixed(amount !== 0 && Math.abs(amount) < 100 ? 4 : 2)}`
}

/** One line of at most `limit` characters. */
export function oneLine(text: string, limit: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length <= limit
    ? line
    : `${line
        .slice(0, limit - 1)
        .toWellFormed()
        .replace(/\ufffd$/, '')}…`
}
