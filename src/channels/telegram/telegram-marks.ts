import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { parseJson } from '../../base/json.ts'
import type { Json } from '../../protocol/json.ts'
import type { Database, Reader, Writer } from '../../storage/database.ts'
import { telegramChannel } from './out/telegram-payload.ts'

/** Telegram keeps what was not fetched for a day: what is older than this cannot come again. */
const keptMs = 3 * 24 * 60 * 60_000
/** Those that are kept for a while only. */
const passing = ['command:', 'confirm:', 'answer:']

const offsetSchema = z.int()

/** What the channel remembers of itself: how far it has read, and what it has begun and may not do twice. */
export interface TelegramMarks {
  /** The number of the next update; `at` is when it was written. */
  offset(): Promise<{ value: number; at: number } | undefined>
  setOffset(writer: Writer, value: number): Promise<void>
  get<T>(reader: Reader | Writer, name: string, schema: z.ZodType<T>): Promise<T | undefined>
  set(writer: Writer, name: string, value: Json): Promise<void>
  /** True where it was there: of two that take it one gets it. */
  take(writer: Writer, name: string): Promise<boolean>
  /** Lets go of what can not come again. */
  purge(): Promise<void>
}

export function createTelegramMarks({ database, clock }: { database: Database; clock: Clock }): TelegramMarks {
  const find = (reader: Reader | Writer, name: string) =>
    reader
      .selectFrom('channel_marks')
      .select(['value', 'updated_at'])
      .where('channel', '=', telegramChannel)
      .where('name', '=', name)
      .executeTakeFirst()

  const marks: TelegramMarks = {
    async offset() {
      const row = await find(database.read, 'offset')
      const value = row && parseJson(row.value, offsetSchema)
      return value?.ok ? { value: value.value, at: Number(row?.updated_at) } : undefined
    },
    setOffset: (writer, value) => marks.set(writer, 'offset', value),
    async get(reader, name, schema) {
      const row = await find(reader, name)
      const value = row && parseJson(row.value, schema)
      return value?.ok ? value.value : undefined
    },
    async set(writer, name, value) {
      const written = { value: JSON.stringify(value), updated_at: clock.now() }
      await writer
        .insertInto('channel_marks')
        .values({ channel: telegramChannel, name, ...written })
        .onConflict((conflict) => conflict.columns(['channel', 'name']).doUpdateSet(written))
        .execute()
    },
    async take(writer, name) {
      const { numDeletedRows } = await writer
        .deleteFrom('channel_marks')
        .where('channel', '=', telegramChannel)
        .where('name', '=', name)
        .executeTakeFirst()
      return Number(numDeletedRows) === 1
    },
    async purge() {
      await database.write(async (writer) => {
        for (const prefix of passing) {
          await writer
            .deleteFrom('channel_marks')
            .where('channel', '=', telegramChannel)
            .where('name', 'like', `${prefix}%`)
            .where('updated_at', '<', clock.now() - keptMs)
            .execute()
        }
      })
    },
  }
  return marks
}
