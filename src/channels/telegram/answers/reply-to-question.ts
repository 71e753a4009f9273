import { z } from 'zod'
import { FamiliarError } from '../../../protocol/error.ts'
import { hasWordsOfOthers } from '../incoming/message-words.ts'
import type { TelegramMessage } from '../incoming/telegram-update.ts'
import { telegramChannel } from '../out/telegram-payload.ts'
import type { TelegramContact } from '../pairing/telegram-contacts.ts'
import type { Handling, TelegramServices } from '../telegram-services.ts'

/** True where the message was the answer to a build's question and is dealt with. */
export async function replyToQuestion(
  services: TelegramServices,
  { message, contact }: { message: TelegramMessage; contact: TelegramContact },
  handling: Handling,
): Promise<boolean> {
  const { builds, database, marks } = services
  const { text, reply_to_message: replied } = message
  if (text === undefined || !replied || hasWordsOfOthers(message)) return false
  const key = await keyOf(services, contact, replied.message_id)
  if (!key?.startsWith('question:')) return false
  const name = `answer:${message.chat.id}.${message.message_id}`
  const wasBegun = await marks.get(database.read, name, z.literal(true))
  const question = (await builds.questions(contact.userId)).find(({ id }) => `${key}:`.startsWith(`question:${id}:`))
  if (!question) {
    // Without the mark it is something that is said: the question was answered elsewhere or waits no longer.
    if (wasBegun) await database.write(handling.move)
    return wasBegun === true
  }
  if (question.kind === 'secret') {
    await refuseSecret(services, { message, contact }, handling)
    return true
  }
  // Written first: the same message again is known for an answer, whether or not that was the end of it.
  await database.write((writer) => marks.set(writer, name, true))
  try {
    await builds.answer(contact.userId, question.id, text)
  } catch (cause) {
    if (!(cause instanceof FamiliarError) || cause.code !== 'conflict') throw cause
    // Answered elsewhere in this very moment: then it is something that is said.
    await database.write((writer) => marks.take(writer, name))
    return false
  }
  services.onStep('button_answered')
  await database.write(handling.move)
  return true
}

/** What a message of ours was made of: the outbox knows what Telegram calls it. */
async function keyOf(
  { database }: TelegramServices,
  { id, userId }: TelegramContact,
  messageId: number,
): Promise<string | undefined> {
  const sent = await database.read
    .selectFrom('outbox')
    .select('key')
    .where('user_id', '=', userId)
    .where('channel', '=', telegramChannel)
    .where('address', '=', String(id))
    .where('external_id', '=', String(messageId))
    .executeTakeFirst()
  return sent?.key
}

/** What is typed here stands on Telegram's servers and would stand in the log: it goes nowhere, and out of the chat. */
async function refuseSecret(
  services: TelegramServices,
  { message, contact }: { message: TelegramMessage; contact: TelegramContact },
  handling: Handling,
): Promise<void> {
  const { chat, message_id: messageId } = message
  const text = 'A secret is never sent in the chat: please use the link above. I have not kept what you wrote.'
  await services.database.write(async (writer) => {
    const key = `telegram:${chat.id}:${messageId}:secret`
    await services.tell(writer, { userId: contact.userId, chatId: chat.id, key, text })
    await handling.move(writer)
  })
  services.wakeOutbox()
  const removal = services.api.call(
    'deleteMessage',
    { chat_id: chat.id, message_id: messageId },
    { result: z.unknown(), signal: handling.signal },
  )
  await services.background.awhile(removal.then(() => undefined))
}
