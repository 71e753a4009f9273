import { addDays, type CalendarDay, endOfDay, parseDay } from '../../../../base/calendar.ts'
import type { MemoryKind } from '../../../../memory/memory.ts'
import type { MemoryFilter } from '../../../../memory/memory-filter.ts'
import type { MemoryFilterQuery } from '../../../../protocol/memory-api.ts'

const written: readonly MemoryKind[] = ['note', 'fact', 'episode', 'commitment']

/** Undefined for all of them. */
export function kindsOf(query: {
  kind?: MemoryKind | undefined
  passages?: string
}): readonly MemoryKind[] | undefined {
  if (query.kind) return [query.kind]
  return query.passages === 'false' ? written : undefined
}

/** Days are those of the user's own zone, the first and the last included. */
export function filterOf({ tier, source, tag, from, until }: MemoryFilterQuery, timeZone: string): MemoryFilter {
  return {
    tier,
    source,
    tag,
    from: timeOf(from, (day) => endOfDay(addDays(day, -1), timeZone) + 1),
    until: timeOf(until, (day) => endOfDay(day, timeZone)),
  }
}

function timeOf(text: string | undefined, ofDay: (day: CalendarDay) => number): number | undefined {
  if (text === undefined) return undefined
  const day = text.includes('T') ? undefined : parseDay(text)
  return day ? ofDay(day) : Date.parse(text)
}
