const formats = new Map<string, Intl.DateTimeFormat>()

/** `2026-11-16 09:00 Europe/Malta`, as the clock there shows it. */
export function formatMoment(at: number, timeZone: string): string {
  // Sweden writes dates the way ISO 8601 does. Each format costs as much to make as a hundred dates to write.
  const format =
    formats.get(timeZone) ?? new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short', timeStyle: 'short' })
  formats.set(timeZone, format)
  return `${format.format(at)} ${timeZone}`
}
