import { type Clock, systemClock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import { silentLogger } from '../../src/base/logger.ts'
import { createOutbox } from '../../src/channels/create-outbox.ts'
import { createDeliveries } from '../../src/channels/deliveries.ts'
import type { OnOutboxStep } from '../../src/channels/outbox.ts'
import { createTelegramApi } from '../../src/channels/telegram/api.ts'
import { createTelegramItems } from '../../src/channels/telegram/items.ts'
import { createPairing, createTelegramContacts } from '../../src/channels/telegram/pairing.ts'
import { createTelegramSender } from '../../src/channels/telegram/sender.ts'
import type { OnTelegramStep } from '../../src/channels/telegram/services.ts'
import { createTelegramChannel } from '../../src/channels/telegram/telegram-channel.ts'
import type { LanguageModel } from '../../src/models/model.ts'
import { createGuardedFetch } from '../../src/security/network/guarded-fetch.ts'
import { deafTranscriber } from '../support/fake-telegram/open-telegram.ts'
import { openScriptedFamiliar } from '../support/scripted-familiar.ts'
import { tokensIn } from './telegram-token.ts'

const toml = `[memory]
conversations = false
extraction = false
[budget]
per_message_usd = 10000.0
per_day_usd = 100000.0
`

/** A Familiar with Telegram in and out, wired like a daemon, whose model repeats the tokens in its input. */
export async function openTelegramWorld(options: {
  home?: string
  server: { apiRoot: string; token: string }
  allowedIds: readonly number[]
  clock?: Clock
  onStep?: OnTelegramStep & OnOutboxStep
}) {
  const { server, allowedIds, clock = systemClock(), onStep } = options
  const familiar = await openScriptedFamiliar({
    model: echoModel(),
    toml,
    clock,
    ...(options.home !== undefined && { home: options.home }),
  })
  const { database, users, conversations, media, monitor, log } = familiar
  const ids = createIds(clock)
  const logger = silentLogger
  const fetch = createGuardedFetch({
    allowedHosts: [{ host: '127.0.0.1', port: Number(new URL(server.apiRoot).port) }],
    timeoutMs: 150_000,
    maxBytes: 21 * 1024 * 1024,
  })
  const api = createTelegramApi({ ...server, fetch, clock: systemClock() })
  const contacts = createTelegramContacts({ database, users, allowedIds: () => allowedIds, clock })
  const pairing = createPairing({ database, contacts, clock, ids, logger })
  const outbox = createOutbox({ database, clock, ids, logger, ...(onStep && { onStep }) })
  const deliveries = createDeliveries({ database, log, outbox, clock, logger })
  const sender = createTelegramSender({
    api,
    media,
    mayReceive: async (user, chatId) => (await contacts.find(Number(chatId)))?.userId === user,
    secretLink: async () => undefined,
    settings: () => ({ repeatUnknown: true }),
    clock,
  })
  const channel = createTelegramChannel({
    ...{ api, database, conversations, media, users, contacts, pairing, outbox, log, monitor, clock, logger },
    commands: { list: () => [], run: () => Promise.reject(new Error('There are no commands here')) },
    builds: { answer: async () => undefined, questions: async () => [] },
    transcriber: deafTranscriber,
    ...(onStep && { onStep }),
  })
  await conversations.recover()
  await familiar.lead()
  await outbox.start([sender])
  await deliveries.start([createTelegramItems({ log })])
  channel.start()

  const count = async (table: 'inbox' | 'outbox', states: readonly string[]): Promise<number> => {
    const rows = database.read
      .selectFrom(table)
      .select('id')
      .where('state', 'in', states as never)
    return (await rows.limit(1).execute()).length
  }

  return {
    familiar,
    channel,
    /** No message waits, and nothing is left to send. */
    async isQuiet(): Promise<boolean> {
      if ((await count('inbox', ['queued', 'running'])) > 0) return false
      await deliveries.settle()
      return (await count('outbox', ['pending', 'sending'])) === 0
    },
    async close(closing?: { keep?: boolean }): Promise<void> {
      await channel.close()
      await deliveries.close()
      await outbox.close()
      await api.close()
      await fetch.close()
      await familiar.close(closing)
    },
  }
}

/** Repeats its tokens, some of them at a length that takes several messages. */
function echoModel(): LanguageModel {
  const info = { id: 'scripted/echo', maxTokens: 4_096, maxContextTokens: 200_000, supportsVision: true }
  return {
    info: { ...info, costPerMtok: [3, 15, 0.3, 3.75] },
    async *stream(request) {
      const tokens = tokensIn(JSON.stringify(request.messages.at(-1)))
      const isLong = tokens.some((token) => token.endsWith('7'))
      const text = tokens
        .map((token) => `Heard ${token}.${isLong ? `\n\nOn and on about ${token}.`.repeat(200) : ''}`)
        .join('\n')
      const usage = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 0 }
      yield { type: 'text_delta', text }
      yield { type: 'finished', response: { parts: [{ type: 'text', text }], stopReason: 'end', usage } }
    },
  }
}
