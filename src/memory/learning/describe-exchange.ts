import { dayOf, formatDay, weekdayOf } from '../../base/calendar.ts'
import { truncateText } from '../../base/text.ts'
import type { Exchange } from './exchange.ts'

const longest = { user: 12_000, assistant: 1_500 }
const speakers = { user: 'USER', assistant: 'ASSISTANT (context only)' }
const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']

/**
 * Exchanges for a model to read. Each line says who spoke; further lines of the same text are indented, so that nobody
 * can speak for another.
 */
export function describeExchanges(exchanges: readonly Exchange[], timeZone: string): string {
  return exchanges.map((exchange) => describeExchange(exchange, timeZone)).join('\n\n')
}

export function describeExchange({ at, lines }: Exchange, timeZone: string): string {
  const day = dayOf(at, timeZone)
  const spoken = lines.map(({ speaker, text }) => {
    const told = truncateText(text, longest[speaker]).replaceAll(/\r\n|[\r\n\u2028\u2029]/g, '\n  ')
    return `${speakers[speaker]}: ${told}`
  })
  return [`[${weekdays[weekdayOf(day)]}, ${formatDay(day)}]`, ...spoken].join('\n')
}
