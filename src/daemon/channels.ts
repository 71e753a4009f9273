import type { Commands } from '../agent/commands/create-commands.ts'
import type { Conversations } from '../agent/conversations.ts'
import type { SessionLog } from '../agent/sessions/session-log.ts'
import { sleep } from '../base/clock.ts'
import type { Monitor } from '../base/telemetry/monitor.ts'
import { createCallbackItems, createCallbackSender } from '../channels/callback.ts'
import type { Outbox } from '../channels/create-outbox.ts'
import { createOutbox } from '../channels/create-outbox.ts'
import { createDeliveries } from '../channels/deliveries.ts'
import type { OnOutboxStep } from '../channels/outbox.ts'
import { createTelegramApi } from '../channels/telegram/api.ts'
import { createBuildNews } from '../channels/telegram/build-news.ts'
import { createTelegramApprovals, createTelegramItems } from '../channels/telegram/items.ts'
import { createPairing, createTelegramContacts } from '../channels/telegram/pairing.ts'
import { createTelegramSender, telegramChannel, toOutgoing } from '../channels/telegram/sender.ts'
import { createTelegramDesk, type OnTelegramStep, telegramHosts } from '../channels/telegram/services.ts'
import { createTelegramChannel } from '../channels/telegram/telegram-channel.ts'
import { markdownPayloads } from '../channels/telegram/text-payloads.ts'
import type { Builds } from '../custom-tools/builder/create-builds.ts'
import type { SecretLinks } from '../http/secret-links.ts'
import type { Speaker } from '../models/speech/speaker.ts'
import type { Transcriber } from '../models/speech/transcriber.ts'
import { FamiliarError } from '../protocol/errors.ts'
import { createGuardedFetch } from '../security/network/guarded-fetch.ts'
import type { Users } from '../security/users.ts'
import type { MediaStore } from '../storage/media-store.ts'
import { allowedHostOf } from '../tools/builtin/fetches.ts'
import type { MessageUser } from '../tools/builtin/message.ts'
import type { Essentials } from './daemon.ts'

export type OpenChannels = ReturnType<typeof openChannels>

interface ChannelNeeds extends Essentials {
  conversations: Conversations
  commands: Commands
  builds: Builds
  log: SessionLog
  monitor: Pick<Monitor, 'current'>
  media: MediaStore
  transcriber: Transcriber
  speaker: Speaker
  users: Users
  secretLink: SecretLinks['secretLink']
  onTelegramStep: OnTelegramStep | undefined
  onOutboxStep: OnOutboxStep | undefined
}

/** A long poll is one slow response; its content is small, and a file may be 20 MB. */
const telegramLimits = { maxBytes: 25_000_000, timeoutMs: 150_000 }

/** How long the `message` tool waits to report whether its message arrived. */
const messagePatienceMs = 5_000
const messageLookMs = 100

/** The outgoing channels and Telegram, wired. The set of channels is fixed at the start of the daemon. */
export function openChannels(needs: ChannelNeeds) {
  const { database, users, clock, logger } = needs
  const outbox = createOutbox({ ...needs, ...(needs.onOutboxStep && { onStep: needs.onOutboxStep }) })
  const deliveries = createDeliveries({ ...needs, outbox })
  const allowedIds = () => needs.config().telegram?.allowedIds ?? []
  const contacts = createTelegramContacts({ database, users, allowedIds, clock })
  const pairing = createPairing({ ...needs, contacts })
  const chatsOf = async (userId: string) => {
    return (await contacts.list()).filter((contact) => contact.userId === userId).map(({ id }) => String(id))
  }
  const telegram = openTelegram(needs, { outbox, contacts, pairing, chatsOf })
  const callback = openCallback(needs)
  const opened = [telegram, callback].filter((channel) => channel !== undefined)

  return {
    outbox,
    telegram: createTelegramDesk({ channel: () => telegram?.channel, contacts, pairing, users }),
    async lead() {
      await outbox.start(opened.map(({ sender }) => sender))
      await deliveries.start([...opened.map(({ items }) => items), ...(telegram ? [telegram.approvals] : [])])
      telegram?.start()
      if (opened.length > 0) logger.info('channels are open', { channels: opened.map(({ sender }) => sender.channel) })
    },
    /** To the user's chats, where there are any. */
    async message({ userId, sessionId, callId, text, signal }: Parameters<MessageUser>[0]): ReturnType<MessageUser> {
      if (!telegram) return { state: 'conversation' }
      const session = await database.read
        .selectFrom('sessions')
        .select(['channel', 'contact'])
        .where('id', '=', sessionId)
        .where('user_id', '=', userId)
        .executeTakeFirst()
      // A message in a chat is delivered with the rest of the conversation.
      if (session && telegram.items.wants({ id: sessionId, userId, ...session })) {
        return { state: 'queued', channel: telegramChannel }
      }
      const chats = await chatsOf(userId)
      if (chats.length === 0) return { state: 'conversation' }
      const items = chats.flatMap((chatId) =>
        markdownPayloads(text).map((payload, part) => {
          const key = `message:${sessionId}:${callId}:${chatId}:${part}`
          return toOutgoing({ userId, chatId, key, payload, sessionId })
        }),
      )
      await database.write((writer) => outbox.putIn(writer, items))
      outbox.wake()
      const keys = new Set(items.map(({ key }) => key))
      const until = clock.now() + messagePatienceMs
      for (;;) {
        const listed = await outbox.list(userId, { channel: telegramChannel, limit: 100 })
        const sent = listed.filter(({ key }) => keys.has(key))
        const failed = sent.find(({ state }) => state === 'failed' || state === 'cancelled')
        if (failed) return { state: 'failed', channel: telegramChannel, ...(failed.error && { reason: failed.error }) }
        if (sent.length > 0 && sent.every(({ state }) => state === 'sent'))
          return { state: 'sent', channel: telegramChannel }
        if (clock.now() >= until) return { state: 'queued', channel: telegramChannel }
        await sleep(clock, messageLookMs, signal)
      }
    },
    /** Another daemon died: looks for events that it did not announce. Does nothing before `lead`. */
    catchUp: deliveries.catchUp,
    async stop() {
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
    chatsOf(userId: string): Promise<string[]>
  },
) {
  const { config, media, secretLink, clock, onTelegramStep } = needs
  const { outbox, contacts } = parts
  const settings = needs.atStart.telegram
  if (!settings) return undefined
  const { token, apiRoot } = settings
  const repeatUnknown = config().telegram?.repeatUnknown ?? false
  const fetch = createGuardedFetch({ ...telegramLimits, allowedHosts: telegramHosts(apiRoot) })
  const api = createTelegramApi({ token, apiRoot, fetch, clock })
  const channel = createTelegramChannel({
    ...needs,
    ...parts,
    api,
    ...(onTelegramStep && { onStep: onTelegramStep }),
  })
  const news = createBuildNews({ ...needs, outbox, chatsOf: parts.chatsOf })
  return {
    channel,
    items: createTelegramItems({
      log: needs.log,
      speaksReplies: async () =>
        config().telegram?.voiceReplies !== false && (await needs.speaker.status()).by !== null,
    }),
    approvals: createTelegramApprovals({ log: needs.log, chatsOf: parts.chatsOf }),
    sender: createTelegramSender({
      api,
      media,
      mayReceive: async (userId, chatId) => (await contacts.find(Number(chatId)))?.userId === userId,
      secretLink: (userId, questionId) => secretLink(userId, questionId).catch(undefinedWhereOver),
      settings: () => ({ repeatUnknown: config().telegram?.repeatUnknown ?? repeatUnknown }),
      speaker: needs.speaker,
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

/** The secret is no longer requested: only that counts as undefined. */
function undefinedWhereOver(error: unknown): undefined {
  if (!(error instanceof FamiliarError && error.code === 'not_found')) throw error
}
