import { z } from 'zod'
import { fullName } from '../incoming/message-words.ts'
import type { TelegramMessage } from '../incoming/telegram-update.ts'
import type { Handling, TelegramServices } from '../telegram-services.ts'

const welcome =
  'You are paired. What you write here is read by this assistant alone, and nobody else is answered. /help lists what can be done with a slash.'
const invalidCode = 'This code is not valid, or not any more.'

/** Somebody sent a pairing code. What it changes is committed with the place in the stream, so that it happens once. */
export async function pair(
  services: TelegramServices,
  { message, text }: { message: TelegramMessage; text: string },
  handling: Handling,
): Promise<void> {
  const { pairing, marks, database, tell } = services
  const { chat, from, message_id: messageId } = message
  const name = `command:${chat.id}.${messageId}`
  // A code that was used up would be wrong when its message comes again.
  if (await marks.get(database.read, name, z.unknown())) {
    await database.write(handling.move)
    return
  }
  const attempt = { senderId: chat.id, name: fullName(from ?? {}), text }
  const outcome = await pairing.tryCode(attempt, async (writer, userId) => {
    await marks.set(writer, name, { state: 'done', line: '', userId, chatId: chat.id })
    await tell(writer, { userId, chatId: chat.id, key: name, text: welcome })
    await handling.move(writer)
  })
  if (outcome.kind === 'paired') {
    services.wakeOutbox()
    return
  }
  await database.write(handling.move)
  if (outcome.kind === 'wrong') await answerStranger(services, chat.id, invalidCode, handling.signal)
}

/** Once, and whether or not it arrives: there is no user whose outbox it could be in. */
export async function answerStranger(
  { api, background }: TelegramServices,
  chatId: number,
  text: string,
  signal: AbortSignal,
): Promise<void> {
  const sending = api.call('sendMessage', { chat_id: chatId, text }, { result: z.unknown(), signal })
  await background.awhile(sending.then(() => undefined))
}
