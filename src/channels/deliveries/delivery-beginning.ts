import type { Clock } from '../../base/clock.ts'
import type { Database, Writer } from '../../storage/database.ts'

const since = 'delivers_since'
const isOff = 'is_off'
/** What was said while a channel was off is of interest for so long once it is on again. */
const dayMs = 24 * 60 * 60_000

/**
 * From which time on each channel delivers: from its first use, and after a while in which it was off from a day before
 * it is on again. A daemon that was down has missed nothing: what it did not deliver it delivers, however old.
 */
export async function markBeginnings(
  { database, clock }: { database: Database; clock: Clock },
  channels: readonly string[],
): Promise<Map<string, number>> {
  const now = clock.now()
  return await database.write(async (writer) => {
    const marks = await writer.selectFrom('channel_marks').selectAll().where('name', 'in', [since, isOff]).execute()
    const markOf = (channel: string, name: string) =>
      marks.find((mark) => mark.channel === channel && mark.name === name)?.value
    for (const { channel, name } of marks) {
      if (name === since && !channels.includes(channel))
        await setMark(writer, { channel, name: isOff, value: 'yes', now })
    }
    const beginnings = new Map<string, number>()
    for (const channel of channels) {
      const known = markOf(channel, since)
      const wasOff = markOf(channel, isOff) !== undefined
      const beginning = known === undefined ? now : wasOff ? Math.max(Number(known), now - dayMs) : Number(known)
      beginnings.set(channel, beginning)
      if (String(beginning) !== known) await setMark(writer, { channel, name: since, value: String(beginning), now })
      if (wasOff) {
        await writer.deleteFrom('channel_marks').where('channel', '=', channel).where('name', '=', isOff).execute()
      }
    }
    return beginnings
  })
}

async function setMark(
  writer: Writer,
  { channel, name, value, now }: { channel: string; name: string; value: string; now: number },
): Promise<void> {
  const row = { value, updated_at: now }
  await writer
    .insertInto('channel_marks')
    .values({ channel, name, ...row })
    .onConflict((conflict) => conflict.columns(['channel', 'name']).doUpdateSet(row))
    .execute()
}
