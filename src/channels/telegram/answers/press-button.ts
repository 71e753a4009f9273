import { z } from 'zod'
import { errorStatus, FamiliarError } from '../../../protocol/error.ts'
import type { ButtonPress } from '../incoming/telegram-update.ts'
import { questionMark } from '../out/button-data.ts'
import type { TelegramContact } from '../pairing/telegram-contacts.ts'
import type { Handling, TelegramServices } from '../telegram-services.ts'
import { type ButtonMeaning, noButton, readButton } from './callback-data.ts'
import { answerConfirm } from './run-command.ts'

const tooLate = 'This was answered before, or it was asked too long ago.'

/** What came of a press: what the button shows from now on, or why it did nothing. */
type Pressed = { shows: string } | { refused: string }

/**
 * A button was pressed. Each is checked where it is answered: what is another user's does not exist there, and an answer
 * that comes again is the same one or too late. So a press that Telegram tells twice does nothing the second time.
 */
export async function pressButton(services: TelegramServices, press: ButtonPress, handling: Handling): Promise<void> {
  const { message, from } = press
  // Buttons stand in private chats alone; a message that is forwarded elsewhere takes none along.
  const isHere = message?.chat.type === 'private' && message.chat.id === from.id
  const contact = isHere ? await services.contacts.find(from.id) : undefined
  if (!contact) {
    await services.database.write(handling.move)
    return
  }
  const meaning = readButton(press.data ?? '')
  const pressed = await answer(services, { meaning, contact }, handling)
  await services.database.write(handling.move)
  services.onStep('button_answered')
  await services.background.awhile(show(services, press, pressed, handling.signal))
}

async function answer(
  services: TelegramServices,
  { meaning, contact }: { meaning: ButtonMeaning; contact: TelegramContact },
  handling: Handling,
): Promise<Pressed> {
  const { userId, id: chatId } = contact
  try {
    switch (meaning.kind) {
      case 'approval': {
        const { id, answer } = meaning
        await services.conversations.answerApproval({ userId, id, answer, from: 'telegram' })
        return { shows: answer === 'approve' ? '✓ Approved' : '✗ Denied' }
      }
      case 'question': {
        const open = await services.builds.questions(userId)
        const question = open.find(({ id }) => questionMark(id) === meaning.mark)
        if (!question) return { refused: tooLate }
        await services.builds.answer(userId, question.id, meaning.choice)
        return { shows: `✓ ${meaning.choice}` }
      }
      case 'confirm': {
        const isKnown = await answerConfirm(services, { userId, chatId, ...meaning }, handling)
        if (!isKnown) return { refused: tooLate }
        return { shows: meaning.isYes ? '✓ Yes' : '✗ No' }
      }
      case 'none':
        return { refused: '' }
    }
  } catch (cause) {
    if (cause instanceof FamiliarError && errorStatus[cause.code] < 500) return { refused: cause.message }
    throw cause
  }
}

/** For the eye alone: where it fails, what was answered is answered. */
async function show(
  { api }: TelegramServices,
  { id, message }: ButtonPress,
  pressed: Pressed,
  signal: AbortSignal,
): Promise<void> {
  const anything = { result: z.unknown(), signal }
  const refused = 'refused' in pressed ? pressed.refused : ''
  await api.call(
    'answerCallbackQuery',
    { callback_query_id: id, ...(refused !== '' && { text: refused.slice(0, 190).toWellFormed() }) },
    anything,
  )
  if (!message || ('refused' in pressed && refused === '')) return
  const button = 'shows' in pressed && { text: pressed.shows, callback_data: noButton }
  const keyboard = { inline_keyboard: button ? [[button]] : [] }
  const place = { chat_id: message.chat.id, message_id: message.message_id }
  await api.call('editMessageReplyMarkup', { ...place, reply_markup: keyboard }, anything)
}
