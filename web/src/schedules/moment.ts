/** A moment as the clocks of that place show it, with the place where it is not the reader's own. */
export function momentIn(at: string | number, timeZone: string, own = ownZone()): string {
  const text = new Intl.DateTimeFormat(undefined, { dateStyle: 'full', timeStyle: 'short', timeZone }).format(
    new Date(at),
  )
  return timeZone === own ? text : `${text} (${timeZone})`
}

export function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}
