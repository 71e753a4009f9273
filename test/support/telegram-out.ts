import { type Clock, systemClock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import type { Outbox } from '../../src/channels/create-outbox.ts'
import { createOutbox } from '../../src/channels/create-outbox.ts'
import { createDeliveries } from '../../src/channels/deliveries.ts'
import type { OutgoingItem } from '../../src/channels/outbox.ts'
import { createTelegramApi } from '../../src/channels/telegram/api.ts'
import { createTelegramItems } from '../../src/channels/telegram/items.ts'
import { createTelegramSender } from '../../src/channels/telegram/sender.ts'
import { createGuardedFetch } from '../../src/security/network/guarded-fetch.ts'
import { type FakeTelegram, startFakeTelegram } from './fake-telegram/start-fake-telegram.ts'
import type { ScriptedFamiliar } from './scripted-familiar.ts'

export interface TelegramOut {
  telegram: FakeTelegram
  outbox: Outbox
  putIn(items: readonly OutgoingItem[]): Promise<void>
  /** Resolves when what was said is in the outbox and nothing is on its way or waits. */
  quiet(): Promise<void>
  close(): Promise<void>
}

/** A Familiar's messages, delivered to a fake Telegram. */
export async function openTelegramOut(
  familiar: ScriptedFamiliar,
  options: { repeatUnknown?: boolean; mayReceive?: () => boolean; clock?: Clock; telegram?: FakeTelegram } = {},
): Promise<TelegramOut> {
  const { repeatUnknown = true, mayReceive = () => true, clock = systemClock() } = options
  const { database, log, media, userId } = familiar
  const telegram = options.telegram ?? (await startFakeTelegram())
  const { port } = new URL(telegram.apiRoot)
  const fetch = createGuardedFetch({ allowedHosts: [{ host: '127.0.0.1', port: Number(port) }] })
  const api = createTelegramApi({ token: telegram.token, apiRoot: telegram.apiRoot, fetch, clock })
  const outbox = createOutbox({ database, clock, ids: createIds(clock), logger: silentLogger })
  const deliveries = createDeliveries({ database, log, outbox, clock, logger: silentLogger })
  const sender = createTelegramSender({
    api,
    media,
    mayReceive: async () => mayReceive(),
    secretLink: async () => ({ url: 'https://familiar.example/secret/one-use', minutes: 10 }),
    settings: () => ({ repeatUnknown }),
    clock,
  })
  await outbox.start([sender])
  await deliveries.start([createTelegramItems({ log })])
  return {
    telegram,
    outbox,
    async putIn(items) {
      await database.write((writer) => outbox.putIn(writer, items))
      outbox.wake()
    },
    async quiet() {
      await deliveries.settle()
      for (;;) {
        const { pending, sending } = await outbox.counts(userId)
        if (pending + sending === 0) return
        await new Promise((resolve) => setTimeout(resolve, 5))
      }
    },
    async close() {
      await deliveries.close()
      await outbox.close()
      await api.close()
      await telegram.close()
    },
  }
}
