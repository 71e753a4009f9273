import type { Commands } from '../../../src/agent/commands/create-commands.ts'
import { systemClock } from '../../../src/base/clock.ts'
import { createIds } from '../../../src/base/ids.ts'
import { type Logger, silentLogger } from '../../../src/base/logger.ts'
import { createOutbox } from '../../../src/channels/create-outbox.ts'
import { createTelegramApi } from '../../../src/channels/telegram/api.ts'
import { createPairing, createTelegramContacts } from '../../../src/channels/telegram/pairing.ts'
import { createTelegramSender } from '../../../src/channels/telegram/sender.ts'
import { telegramHosts } from '../../../src/channels/telegram/services.ts'
import { createTelegramChannel } from '../../../src/channels/telegram/telegram-channel.ts'
import type { Transcriber } from '../../../src/models/speech/transcriber.ts'
import { createGuardedFetch } from '../../../src/security/network/guarded-fetch.ts'
import type { OpenCommands } from '../open-commands.ts'
import type { FakeTelegram } from './start-fake-telegram.ts'

type Channel = Parameters<typeof createTelegramChannel>[0]

export const deafTranscriber: Transcriber = {
  status: () => ({ by: null, hint: 'no model for speech is installed (familiar voice install)' }),
  warm: async () => undefined,
  transcribe: async () => ({ ok: false, reason: 'no model' }),
  close: async () => undefined,
}

export const noCommands: Commands = {
  list: () => [],
  complete: async () => ({ start: 0, candidates: [] }),
  run: async () => ({ ok: true, text: '' }),
  acts: () => false,
}

/** The channel with its outbox over a Familiar of the tests, with Telegram's side played by the fake server. */
export async function openTelegram(options: {
  familiar: Pick<OpenCommands, 'database' | 'conversations' | 'commands' | 'media' | 'users' | 'log' | 'monitor'>
  server: FakeTelegram
  allowedIds?: readonly number[]
  builds?: Channel['builds']
  transcriber?: Transcriber
  logger?: Logger
  clock?: Channel['clock']
  onStep?: Channel['onStep']
}) {
  const { familiar, server, clock = systemClock(), logger = silentLogger } = options
  const { database, users } = familiar
  const ids = createIds(clock)
  const fetch = createGuardedFetch({
    allowedHosts: telegramHosts(server.apiRoot),
    timeoutMs: 150_000,
    maxBytes: 21 * 1024 * 1024,
  })
  const api = createTelegramApi({ token: server.token, apiRoot: server.apiRoot, fetch, clock: systemClock() })
  const contacts = createTelegramContacts({ database, users, allowedIds: () => options.allowedIds ?? [], clock })
  const pairing = createPairing({ database, contacts, clock, ids, logger })
  const outbox = createOutbox({ database, clock: systemClock(), ids, logger })
  const sender = createTelegramSender({
    api,
    media: familiar.media,
    mayReceive: async (userId, chatId) => (await contacts.find(Number(chatId)))?.userId === userId,
    secretLink: async () => undefined,
    settings: () => ({ repeatUnknown: true }),
    clock: systemClock(),
  })
  await outbox.start([sender])
  const channel = createTelegramChannel({
    ...familiar,
    api,
    builds: options.builds ?? { answer: async () => undefined, questions: async () => [] },
    transcriber: options.transcriber ?? deafTranscriber,
    contacts,
    pairing,
    outbox,
    clock,
    logger,
    ...(options.onStep && { onStep: options.onStep }),
  })
  channel.start()
  return {
    api,
    contacts,
    pairing,
    outbox,
    channel,
    async close() {
      await channel.close()
      await outbox.close()
      await api.close()
    },
  }
}
