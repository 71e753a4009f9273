import { parseLine } from '../../../agent/commands/parse-line.ts'
import type { TelegramMessage } from '../incoming/telegram-update.ts'
import type { Handling, TelegramServices } from '../telegram-services.ts'
import { answerStranger, pair } from './pair.ts'

const privateText = 'This is a private assistant.'

/**
 * Somebody who is nobody here (SEC-5): a pairing code is looked at; for everything else there is one short answer an hour.
 * Nothing is fetched, and nothing that they write is kept.
 */
export async function meetStranger(
  services: TelegramServices,
  { message, from, isEdit }: { message: TelegramMessage; from: { id: number }; isEdit: boolean },
  handling: Handling,
): Promise<void> {
  const command = isEdit ? undefined : parseLine(message.text ?? '')
  if (command && command.argument !== '' && (command.name === 'pair' || command.name === 'start')) {
    return await pair(services, { message, text: command.argument }, handling)
  }
  await services.database.write(handling.move)
  if (services.strangers.mayBeTold(from.id)) {
    services.logger.info('a stranger wrote on Telegram', { sender: from.id })
    await answerStranger(services, from.id, privateText, handling.signal)
  }
}
