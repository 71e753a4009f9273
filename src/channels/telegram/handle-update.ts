import { z } from 'zod'
import { parseLine } from '../../agent/commands/command.ts'
import { errorStatus, FamiliarError } from '../../protocol/errors.ts'
import { outcomeText } from '../../security/approval-texts.ts'
import { pressChoice } from './choice-buttons.ts'
import type { TelegramContact } from './pairing.ts'
import { answerConfirm, runCommand } from './run-command.ts'
import { telegramChannel } from './sender.ts'
import type { Handling, TelegramServices } from './services.ts'
import { takeMessage } from './take-message.ts'
import {
  type ButtonMeaning,
  type ButtonPress,
  fullName,
  hasWordsOfOthers,
  noButton,
  type Person,
  questionMark,
  readButton,
  shortText,
  type TelegramMessage,
  type TelegramUpdate,
} from './updates.ts'

/** Processes one update completely: resolves once its effect is committed together with the new offset. */
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
    return await leave(services, chat.id, handling)
  }
  if (!from || from.is_bot === true || from.id !== chat.id) return await services.database.write(handling.move)
  const contact = await services.contacts.find(from.id)
  if (!contact) return await meetStranger(services, { message, from, isEdit }, handling)
  const line = commandLine(message)
  if (line !== undefined && !isEdit) {
    const code = pairingCodeIn(line)
    if (code !== undefined) return await pair(services, { message, text: code }, handling)
    const id = `${chat.id}.${message.message_id}`
    return await runCommand(services, { id, userId: contact.userId, chatId: chat.id, line }, handling)
  }
  if (!isEdit && (await replyToQuestion(services, { message, contact }, handling))) return
  // Two slashes escape a message that starts with one.
  const text = message.text?.startsWith('//') ? { text: message.text.slice(1) } : {}
  await takeMessage(services, { message, isEdit, contact, ...text }, handling)
}

/** The argument of `/pair CODE` or `/start CODE`. */
function pairingCodeIn(line: string): string | undefined {
  const { name, argument = '' } = parseLine(line) ?? {}
  return argument !== '' && (name === 'pair' || name === 'start') ? argument : undefined
}

/** `/name@of_the_bot argument`, in the user's own words; undefined if it is not a command. */
function commandLine(message: TelegramMessage): string | undefined {
  if (message.text === undefined || hasWordsOfOthers(message)) return undefined
  const line = message.text.replace(/^(\/[a-zA-Z0-9_]+)@\w+/, '$1')
  return parseLine(line) && line
}

function isInside(status: string): boolean {
  return status === 'member' || status === 'administrator' || status === 'restricted'
}

/** The bot does not answer in groups; staying would only mean reading along. */
function leave({ api, background }: TelegramServices, chatId: number, { signal }: Handling): Promise<void> {
  return background.awhile(api.call('leaveChat', { chat_id: chatId }, { result: z.unknown(), signal }))
}

type Pressed =
  | { shows: string }
  /** Other buttons in place of those that were pressed. */
  | { rows: { text: string; data: string }[][]; says?: string }
  | { refused: string }

/**
 * A button was pressed. Each is checked where it is answered: other users' questions are not visible there, and a
 * repeated answer is the same or too late. So a press that Telegram delivers twice does nothing the second time.
 */
async function pressButton(services: TelegramServices, press: ButtonPress, handling: Handling): Promise<void> {
  const { message, from } = press
  // Buttons exist in private chats only; forwarding a message drops them.
  const isHere = message?.chat.type === 'private' && message.chat.id === from.id
  const contact = isHere ? await services.contacts.find(from.id) : undefined
  if (!contact) return await services.database.write(handling.move)
  const meaning = readButton(press.data ?? '')
  const pressed = await answer(services, { meaning, contact, from }, handling)
  await services.database.write(handling.move)
  services.onStep('button_answered')
  await services.background.awhile(show(services, press, pressed, handling.signal))
}

async function answer(
  services: TelegramServices,
  { meaning, contact, from }: { meaning: ButtonMeaning; contact: TelegramContact; from: Person },
  handling: Handling,
): Promise<Pressed> {
  const { userId, id: chatId } = contact
  try {
    switch (meaning.kind) {
      case 'approval': {
        const { id, answer, scope } = meaning
        const given = { userId, id, answer, scope, from: 'telegram' }
        const { language } = await services.conversations.answerApproval(given)
        return { shows: `${answer === 'approve' ? '✓' : '✗'} ${outcomeText({ answer, scope }, language)}` }
      }
      case 'question': {
        const open = await services.builds.questions(userId)
        const question = open.find(({ id }) => questionMark(id) === meaning.mark)
        if (!question) return { refused: shortText('tooLate', from) }
        await services.builds.answer(userId, question.id, meaning.choice)
        const place = Number(meaning.choice) - 1
        return { shows: `✓ ${question.choices?.options[place]?.label ?? meaning.choice}` }
      }
      case 'confirm': {
        const isKnown = await answerConfirm(services, { userId, chatId, ...meaning }, handling)
        if (!isKnown) return { refused: shortText('tooLate', from) }
        return { shows: meaning.isYes ? '✓ Yes' : '✗ No' }
      }
      case 'choice':
        return await pressChoice(services, { press: meaning.press, contact, from }, handling)
      case 'none':
        return { refused: '' }
    }
  } catch (cause) {
    if (cause instanceof FamiliarError && errorStatus[cause.code] < 500) return { refused: cause.message }
    throw cause
  }
}

/** Cosmetic only: if it fails, the answer is still stored. */
async function show(
  { api }: TelegramServices,
  { id, message }: ButtonPress,
  pressed: Pressed,
  signal: AbortSignal,
): Promise<void> {
  const anything = { result: z.unknown(), signal }
  const refused = 'refused' in pressed ? pressed.refused : ''
  const said = 'says' in pressed ? (pressed.says ?? '') : refused
  await api.call(
    'answerCallbackQuery',
    { callback_query_id: id, ...(said !== '' && { text: said.slice(0, 190).toWellFormed() }) },
    anything,
  )
  if (!message || ('refused' in pressed && refused === '')) return
  const shown = 'shows' in pressed ? [[{ text: pressed.shows, data: noButton }]] : []
  const rows = 'rows' in pressed ? pressed.rows : shown
  const keyboard = { inline_keyboard: rows.map((row) => row.map(({ text, data }) => ({ text, callback_data: data }))) }
  const place = { chat_id: message.chat.id, message_id: message.message_id }
  await api.call('editMessageReplyMarkup', { ...place, reply_markup: keyboard }, anything)
}

/** True if the message answered a build's question and is processed. */
async function replyToQuestion(
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
    // Without the mark it is an ordinary message: the question was answered elsewhere or has ended.
    if (wasBegun) await database.write(handling.move)
    return wasBegun === true
  }
  if (question.kind === 'secret') {
    await refuseSecret(services, { message, contact }, handling)
    return true
  }
  // Written first: a repeated delivery of the message is recognized as an answer, whatever happened.
  await database.write((writer) => marks.set(writer, name, true))
  try {
    await builds.answer(contact.userId, question.id, text)
  } catch (cause) {
    if (!(cause instanceof FamiliarError) || cause.code !== 'conflict') throw cause
    // Answered elsewhere at the same moment: then it is an ordinary message.
    await database.write((writer) => marks.take(writer, name))
    return false
  }
  services.onStep('button_answered')
  await database.write(handling.move)
  return true
}

/** The origin of a message of ours: the outbox knows its Telegram id. */
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

/** A secret typed here is on Telegram's servers and would be logged: it is discarded and deleted from the chat. */
async function refuseSecret(
  services: TelegramServices,
  { message, contact }: { message: TelegramMessage; contact: TelegramContact },
  handling: Handling,
): Promise<void> {
  const { chat, message_id: messageId } = message
  const text = shortText('noSecrets', message.from)
  await services.database.write(async (writer) => {
    const key = `telegram:${chat.id}:${messageId}:secret`
    await services.tell(writer, { userId: contact.userId, chatId: chat.id, key, text })
    await handling.move(writer)
  })
  services.wakeOutbox()
  const place = { chat_id: chat.id, message_id: messageId }
  const anything = { result: z.unknown(), signal: handling.signal }
  await services.background.awhile(services.api.call('deleteMessage', place, anything))
}

/** A pairing code was sent. Its effect is committed with the offset, so that it happens once. */
async function pair(
  services: TelegramServices,
  { message, text }: { message: TelegramMessage; text: string },
  handling: Handling,
): Promise<void> {
  const { pairing, marks, database, tell } = services
  const { chat, from, message_id: messageId } = message
  const name = `command:${chat.id}.${messageId}`
  // A used code would be invalid when its message is delivered again.
  if (await marks.get(database.read, name, z.unknown())) return await database.write(handling.move)
  const attempt = { senderId: chat.id, name: fullName(from ?? {}), text }
  const outcome = await pairing.tryCode(attempt, async (writer, userId) => {
    await marks.set(writer, name, { state: 'done', line: '', userId, chatId: chat.id })
    await tell(writer, { userId, chatId: chat.id, key: name, text: shortText('welcome', from) })
    await handling.move(writer)
  })
  if (outcome.kind === 'paired') {
    services.wakeOutbox()
    return
  }
  await database.write(handling.move)
  if (outcome.kind === 'wrong') await answerStranger(services, chat.id, shortText('invalidCode', from), handling)
}

/** Sent once, whether or not it arrives: there is no user whose outbox could hold it. */
function answerStranger({ api, background }: TelegramServices, chatId: number, text: string, { signal }: Handling) {
  return background.awhile(api.call('sendMessage', { chat_id: chatId, text }, { result: z.unknown(), signal }))
}

/**
 * An unknown person (SEC-5): a pairing code is checked; everything else gets one short reply per hour. Nothing is
 * fetched or stored.
 */
async function meetStranger(
  services: TelegramServices,
  { message, from, isEdit }: { message: TelegramMessage; from: Person; isEdit: boolean },
  handling: Handling,
): Promise<void> {
  const code = isEdit ? undefined : pairingCodeIn(message.text ?? '')
  if (code !== undefined) return await pair(services, { message, text: code }, handling)
  await services.database.write(handling.move)
  if (services.strangers.mayBeTold(from.id)) {
    services.logger.info('a stranger wrote on Telegram', { sender: from.id })
    await answerStranger(services, from.id, shortText('private', from), handling)
  }
}
