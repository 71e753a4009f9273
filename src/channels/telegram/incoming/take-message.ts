import { z } from 'zod'
import type { InboundMessage } from '../../../agent/conversations.ts'
import { sleep } from '../../../base/clock.ts'
import { parseJson } from '../../../base/json.ts'
import { errorStatus, FamiliarError } from '../../../protocol/error.ts'
import type { Writer } from '../../../storage/database.ts'
import { telegramChannel } from '../out/telegram-payload.ts'
import type { TelegramContact } from '../pairing/telegram-contacts.ts'
import type { Handling, TelegramServices } from '../telegram-services.ts'
import { attachedFiles } from './attached-files.ts'
import { correctionOf } from './correction.ts'
import { type FetchedFiles, fetchFiles } from './fetch-files.ts'
import { hasWordsOfOthers, messageWords } from './message-words.ts'
import type { TelegramMessage } from './telegram-update.ts'

const nothingFetched: FetchedFiles = { media: [], lines: [], problems: [], isSpoken: false }
const longestPauseMs = 30_000

/** Hands what somebody said to the conversations, once: its key is made of what Telegram never gives twice. */
export async function takeMessage(
  services: TelegramServices,
  said: { message: TelegramMessage; isEdit: boolean; contact: TelegramContact; text?: string },
  handling: Handling,
): Promise<void> {
  const { database, onStep } = services
  const { message, isEdit, contact } = said
  const key = keyOf(services, message, isEdit)
  const words = said.text ?? messageWords(message)
  if ((await storedText(services, contact.userId, key)) !== undefined || (isEdit && (await isUnchanged()))) {
    await database.write(handling.move)
    return
  }
  // A changed caption is told; the files came with the message itself.
  const files = isEdit ? [] : attachedFiles(message)
  const fetched = files.length === 0 ? nothingFetched : await fetchFiles(services, files, handling.signal)
  if (files.length > 0) onStep('files_fetched')
  const text = [words, ...fetched.lines].filter((line) => line !== '').join('\n')
  if (text === '' && fetched.media.length === 0) {
    // Somebody pinned something, or changed a picture: nothing was said.
    await database.write(handling.move)
    return
  }
  const { chat, message_id: messageId, reply_to_message: replied } = message
  const place = { chatId: chat.id, messageId, ...(replied && { replyTo: replied.message_id }) }
  const inbound: InboundMessage = {
    userId: contact.userId,
    channel: telegramChannel,
    contact: String(chat.id),
    sender: services.users.list().find(({ id }) => id === contact.userId)?.name ?? String(contact.id),
    source: telegramChannel,
    text: isEdit ? correctionOf(text) : text,
    media: fetched.media,
    key,
    immediate: false,
    metadata: { telegram: place, ...(fetched.isSpoken && { voice: true }) },
    ...(hasWordsOfOthers(message) && { label: 'untrusted' as const }),
  }
  await submit(services, inbound, fetched.problems, handling)
  onStep('message_submitted')

  /** Telegram also calls it a change where only a preview came or a reaction was set; and of a live location each step. */
  async function isUnchanged(): Promise<boolean> {
    const isSaid = message.text !== undefined || message.caption !== undefined
    return !isSaid || (await storedText(services, contact.userId, keyOf(services, message, false))) === words
  }
}

/** The number of an update may begin anew; that of a message in its chat does not. */
function keyOf({ bot }: TelegramServices, message: TelegramMessage, isEdit: boolean): string {
  const { chat, message_id, edit_date = 0 } = message
  return `telegram:${bot.id}:${chat.id}:${message_id}${isEdit ? `:${edit_date}` : ''}`
}

const storedSchema = z.object({ text: z.string() })

async function storedText({ database }: TelegramServices, userId: string, key: string): Promise<string | undefined> {
  const row = await database.read
    .selectFrom('inbox')
    .select('data')
    .where('user_id', '=', userId)
    .where('key', '=', key)
    .executeTakeFirst()
  const stored = row && parseJson(row.data, storedSchema)
  return stored?.ok ? stored.value.text : undefined
}

/** Until it is in, or can never be: while too many wait it is tried again, and nothing that came later overtakes it. */
async function submit(
  services: TelegramServices,
  inbound: InboundMessage,
  problems: readonly string[],
  handling: Handling,
): Promise<void> {
  const { conversations, database, clock, logger } = services
  const { userId, contact, key = '' } = inbound
  const note = (text: string) => ({ userId, chatId: Number(contact), key: `${key}:told`, text })
  const moveAndTell = async (writer: Writer, texts: readonly string[]) => {
    if (texts.length > 0) await services.tell(writer, note(texts.join('\n')))
    await handling.move(writer)
  }
  for (let attempt = 0; ; attempt += 1) {
    try {
      await conversations.submit(inbound, (writer) => moveAndTell(writer, problems))
      break
    } catch (cause) {
      handling.signal.throwIfAborted()
      if (!(cause instanceof FamiliarError)) throw cause
      if (cause.code === 'rate_limited' || cause.code === 'storage_full') {
        const pause = cause.retryAfterSeconds === undefined ? 1_000 * 2 ** attempt : cause.retryAfterSeconds * 1_000
        logger.warn('a message from Telegram waits', { reason: cause.message, chat: contact })
        await sleep(clock, Math.min(longestPauseMs, pause), handling.signal)
      } else if (cause.code === 'conflict') {
        // The same message came before and read otherwise, such as before its file could be fetched.
        await database.write(handling.move)
        return
      } else if (errorStatus[cause.code] < 500) {
        await database.write((writer) => moveAndTell(writer, [cause.message]))
        break
      } else throw cause
    }
  }
  services.wakeOutbox()
}
