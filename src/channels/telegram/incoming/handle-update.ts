import { z } from 'zod'
import { parseLine } from '../../../agent/commands/parse-line.ts'
import { pressButton } from '../answers/press-button.ts'
import { replyToQuestion } from '../answers/reply-to-question.ts'
import { runCommand } from '../answers/run-command.ts'
import { meetStranger } from '../pairing/meet-stranger.ts'
import { pair } from '../pairing/pair.ts'
import type { TelegramContact } from '../pairing/telegram-contacts.ts'
import type { Handling, TelegramServices } from '../telegram-services.ts'
import { hasWordsOfOthers } from './message-words.ts'
import { takeMessage } from './take-message.ts'
import type { TelegramMessage, TelegramUpdate } from './telegram-update.ts'

/** Deals with one update, to the end: it resolves once that is committed together with the place behind it. */
export async function handleUpdate(
  services: TelegramServices,
  update: TelegramUpdate,
  handling: Handling,
): Promise<void> {
  const { database } = services
  switch (update.kind) {
    case 'message':
      return await handleMessage(services, update, handling)
    case 'button':
      return await pressButton(services, update.press, handling)
    case 'membership':
      await database.write(handling.move)
      if (update.chat.type !== 'private' && isInside(update.status)) await leave(services, update.chat.id, handling)
      return
    case 'other':
      await database.write(handling.move)
  }
}

async function handleMessage(
  services: TelegramServices,
  { message, isEdit }: { message: TelegramMessage; isEdit: boolean },
  handling: Handling,
): Promise<void> {
  const { chat, from } = message
  if (chat.type !== 'private') {
    await services.database.write(handling.move)
    await leave(services, chat.id, handling)
    return
  }
  if (!from || from.is_bot === true || from.id !== chat.id) {
    await services.database.write(handling.move)
    return
  }
  const contact = await services.contacts.find(from.id)
  if (!contact) return await meetStranger(services, { message, from, isEdit }, handling)
  const line = commandLine(message)
  if (line !== undefined && !isEdit) return await handleCommand(services, { message, contact, line }, handling)
  if (!isEdit && (await replyToQuestion(services, { message, contact }, handling))) return
  // Two slashes begin a message that starts with one.
  const text = message.text?.startsWith('//') ? { text: message.text.slice(1) } : {}
  await takeMessage(services, { message, isEdit, contact, ...text }, handling)
}

async function handleCommand(
  services: TelegramServices,
  command: { message: TelegramMessage; contact: TelegramContact; line: string },
  handling: Handling,
): Promise<void> {
  const { message, contact, line } = command
  const { chat, message_id: messageId } = message
  const { name, argument } = parseLine(line) ?? { name: '', argument: '' }
  if (argument !== '' && (name === 'pair' || name === 'start')) {
    return await pair(services, { message, text: argument }, handling)
  }
  const id = `${chat.id}.${messageId}`
  await runCommand(services, { id, userId: contact.userId, chatId: chat.id, line }, handling)
}

/** `/name@of_the_bot argument`, in the user's own words; undefined for what is no command. */
function commandLine(message: TelegramMessage): string | undefined {
  if (message.text === undefined || hasWordsOfOthers(message)) return undefined
  const line = message.text.replace(/^(\/[a-zA-Z0-9_]+)@\w+/, '$1')
  return parseLine(line) && line
}

function isInside(status: string): boolean {
  return status === 'member' || status === 'administrator' || status === 'restricted'
}

/** Nobody is answered in a group; staying there would only mean reading along. */
async function leave({ api, background }: TelegramServices, chatId: number, { signal }: Handling): Promise<void> {
  const leaving = api.call('leaveChat', { chat_id: chatId }, { result: z.unknown(), signal })
  await background.awhile(leaving.then(() => undefined))
}
