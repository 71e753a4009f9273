import type { Outgoing } from '../outbox/outbox.ts'
import { telegramChannel, telegramPayloadSchema } from './out/telegram-payload.ts'
import { plainPayloads } from './out/text-payloads.ts'
import type { Note } from './telegram-services.ts'

/** A note as it lies in the outbox: in pieces where it is long, with its buttons in one row under the last of them. */
export function noteItems({ userId, chatId, key, text, buttons = [] }: Note): Outgoing[] {
  const payloads = plainPayloads(text)
  return payloads.map((payload, at) => ({
    userId,
    channel: telegramChannel,
    address: String(chatId),
    key: `note:${key}:${at}`,
    payload: telegramPayloadSchema.parse(
      at === payloads.length - 1 && buttons.length > 0 ? { ...payload, buttons: [[...buttons]] } : payload,
    ),
    sessionId: null,
  }))
}
