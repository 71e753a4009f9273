import { formatMoment } from '../../tools/schedules/format-moment.ts'
import type { Schedule } from '../../tools/schedules/schedules.ts'
import { punctualMs } from './plan-due.ts'

/**
 * What arrives: the message behind a line that says why it comes now. Without that, "Call Anna" would read as an order
 * that somebody has just given.
 */
export function runMessage(
  { name, timeZone, kind }: Pick<Schedule, 'name' | 'timeZone' | 'kind'>,
  text: string,
  { dueAt, now }: { dueAt: number; now: number },
): string {
  const what = kind === 'heartbeat' ? 'Heartbeat' : `Scheduled message ${JSON.stringify(name)}`
  const late = now - dueAt > punctualMs ? `, ${describeDelay(now - dueAt)} late` : ''
  const end = kind === 'heartbeat' ? '\n\nWhere nothing needs the user, answer HEARTBEAT_OK and nothing else.' : ''
  return `[${what}, due ${formatMoment(dueAt, timeZone)}${late}]\n${text}${end}`
}

function describeDelay(milliseconds: number): string {
  const minutes = Math.floor(milliseconds / 60_000)
  if (minutes < 120) return `${minutes} min`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`
}
