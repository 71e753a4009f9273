/** How long a response asks to wait, from `retry-after-ms` or `retry-after` (seconds or an HTTP date). */
export function readRetryAfter(headers: Record<string, string> | undefined, now: number): number | undefined {
  const milliseconds = parseAmount(headers?.['retry-after-ms'])
  if (milliseconds !== undefined) return milliseconds
  const value = headers?.['retry-after']
  const seconds = parseAmount(value)
  if (seconds !== undefined) return seconds * 1000
  const date = Date.parse(value ?? '')
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

function parseAmount(value: string | undefined): number | undefined {
  return value !== undefined && /^\d+(\.\d+)?$/.test(value.trim()) ? Number(value) : undefined
}
