/** The calendar day and month that a moment falls in, on the machine's own clock and time zone. */
export function dayOf(at: number): string {
  const date = new Date(at)
  return `${monthOf(at)}-${String(date.getDate()).padStart(2, '0')}`
}

export function monthOf(at: number): string {
  const date = new Date(at)
  return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}`
}

export function startOfDay(at: number, daysBack = 0): number {
  const date = new Date(at)
  return new Date(date.getFullYear(), date.getMonth(), date.getDate() - daysBack).getTime()
}
