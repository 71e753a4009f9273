import type { Commands } from '../agent/commands/commands.ts'
import type { Conversations } from '../agent/conversations.ts'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import type { Logger } from '../base/logger.ts'
import { createCallbackItems } from '../channels/callback/callback-items.ts'
import { createCallbackSender } from '../channels/callback/callback-sender.ts'
import { createDeliveries } from '../channels/deliveries/create-deliveries.ts'
import type { SecretLinks } from '../channels/http/secret-links/secret-links.ts'
import { createOutbox } from '../channels/outbox/create-outbox.ts'
import type { Outbox } from '../channels/outbox/outbox.ts'
import type { OnOutboxStep } from '../channels/outbox/outbox-step.ts'
import { createTelegramApi } from '../channels/telegram/api/create-telegram-api.ts'
import { telegramHosts } from '../channels/telegram/api/telegram-hosts.ts'
import { createTelegramChannel } from '../channels/telegram/create-telegram-channel.ts'
import { createBuildNews } from '../channels/telegram/out/build-news.ts'
import { createTelegramItems } from '../channels/telegram/out/telegram-items.ts'
import { createTelegramSender } from '../channels/telegram/out/telegram-sender.ts'
import { createPairing } from '../channels/telegram/pairing/pairing.ts'
import { createTelegramContacts } from '../channels/telegram/pairing/telegram-contacts.ts'
import { createTelegramDesk, type TelegramDesk } from '../channels/telegram/telegram-desk.ts'
import type { OnTelegramStep } from '../channels/telegram/telegram-step.ts'
import { createGuardedFetch } from '../egress/guarded-fetch.ts'
import type { Monitor } from '../monitor/monitor.ts'
import type { Users } from '../policy/users/users.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { MediaStore } from '../sessions/media-store.ts'
import type { SessionLog } from '../sessions/session-log.ts'
import type { Database } from '../storage/database.ts'
import { allowedHostOf } from '../tools/builtin/fetches.ts'
import type { Builds } from '../tools/capabilities/builds/builds.ts'
import type { Transcriber } from '../voice/transcriber.ts'
import type { Config } from './config/config.ts'

export interface OpenChannels {
  outbox: Outbox
  telegram: TelegramDesk
  /** Begins to send and to fetch. After the conversations recovered. */
  begin(): Promise<void>
  /** Another daemon died: what it had not told of is looked for. Nothing before `begin`. */
  catchUp(): Promise<void>
  /** Before the conversations: nothing comes in any more, and what is under way out comes to its end. */
  close(): Promise<void>
}

interface ChannelNeeds {
  config: () => Config
  database: Database
  conversations: Conversations
  commands: Commands
  builds: Builds
  log: SessionLog
  monitor: Pick<Monitor, 'current'>
  media: MediaStore
  transcriber: Transcriber
  users: Users
  secretLink: SecretLinks['secretLink']
  clock: Clock
  ids: Ids
  logger: Logger
  onTelegramStep?: OnTelegramStep
  onOutboxStep?: OnOutboxStep
}

/** A long poll is one answer that takes its time; what comes in it is small, and a file may be 20 MB. */
const telegramLimits = { maxBytes: 25_000_000, timeoutMs: 150_000 }

/** The ways out of the house and Telegram, wired. Which there are is settled at the start of the daemon. */
export function openChannels(needs: ChannelNeeds): OpenChannels {
  const { database, users, clock, logger } = needs
  const outbox = createOutbox({ ...needs, ...(needs.onOutboxStep && { onStep: needs.onOutboxStep }) })
  const deliveries = createDeliveries({ ...needs, outbox })
  const contacts = createTelegramContacts({
    database,
    users,
    allowedIds: () => needs.config().telegram?.allowedIds ?? [],
    clock,
  })
  const pairing = createPairing({ ...needs, contacts })
  const telegram = openTelegram(needs, { outbox, contacts, pairing })
  const callback = openCallback(needs)
  const opened = [telegram, callback].filter((channel) => channel !== undefined)

  return {
    outbox,
    telegram: createTelegramDesk({ channel: () => telegram?.channel, contacts, pairing, users }),
    async begin() {
      await outbox.start(opened.map(({ sender }) => sender))
      await deliveries.start(opened.map(({ items }) => items))
      telegram?.start()
      if (opened.length > 0) logger.info('channels are open', { channels: opened.map(({ sender }) => sender.channel) })
    },
    catchUp: deliveries.catchUp,
    async close() {
      await telegram?.close()
      await deliveries.close()
      await outbox.close()
      await Promise.all(opened.map(({ release }) => release()))
    },
  }
}

function openTelegram(
  needs: ChannelNeeds,
  parts: {
    outbox: Outbox
    contacts: ReturnType<typeof createTelegramContacts>
    pairing: ReturnType<typeof createPairing>
  },
) {
  const { config, builds, media, secretLink, clock, onTelegramStep } = needs
  const { outbox, contacts } = parts
  const settings = config().telegram
  if (!settings) return undefined
  const { token, apiRoot } = settings
  const fetch = createGuardedFetch({ ...telegramLimits, allowedHosts: telegramHosts(apiRoot) })
  const api = createTelegramApi({ token, apiRoot, fetch, clock })
  const channel = createTelegramChannel({
    ...needs,
    ...parts,
    api,
    builds,
    ...(onTelegramStep && { onStep: onTelegramStep }),
  })
  const news = createBuildNews({ ...needs, outbox })
  return {
    channel,
    items: createTelegramItems(needs),
    sender: createTelegramSender({
      api,
      media,
      mayReceive: async (userId, chatId) => (await contacts.find(Number(chatId)))?.userId === userId,
      secretLink: (userId, questionId) => secretLink(userId, questionId).catch(undefinedWhereOver),
      settings: () => ({ repeatUnknown: config().telegram?.repeatUnknown ?? settings.repeatUnknown }),
      clock,
    }),
    start() {
      news.start()
      channel.start()
    },
    async close() {
      await channel.close()
      await news.close()
    },
    release: () => api.close(),
  }
}

function openCallback({ config, log, clock }: ChannelNeeds) {
  const named = config().callback
  if (!named) return undefined
  const settings = () => config().callback ?? named
  const fetch = createGuardedFetch({ allowedHosts: [allowedHostOf(new URL(named.url))] })
  return {
    items: createCallbackItems({ log, settings }),
    sender: createCallbackSender({ fetch, clock, settings }),
    release: () => fetch.close(),
  }
}

/** Nobody asks for the secret any more: that is an answer, and anything else is not. */
function undefinedWhereOver(error: unknown): undefined {
  if (!(error instanceof FamiliarError && error.code === 'not_found')) throw error
}
