import * as api from '../../protocol/telegram-api.ts'
import type { ApiTransport } from '../api-transport.ts'

/** What can be asked of Telegram over HTTP, typed. */
export interface TelegramClient {
  status(): Promise<api.TelegramStatusReply>
  contacts(): Promise<api.TelegramContactsReply['contacts']>
  makeCode(request: api.TelegramCodeRequest): Promise<api.TelegramCodeReply>
  unpair(id: string): Promise<api.TelegramUnpairedReply>
}

export function createTelegramClient({ ask }: ApiTransport): TelegramClient {
  return {
    status: () => ask('/local/telegram', api.telegramStatusReplySchema),
    contacts: async () => (await ask('/local/telegram/contacts', api.telegramContactsReplySchema)).contacts,
    makeCode: (request) => ask('/local/telegram/codes', api.telegramCodeReplySchema, { body: request }),
    unpair: (id) =>
      ask(`/local/telegram/contacts/${encodeURIComponent(id)}`, api.telegramUnpairedReplySchema, { method: 'DELETE' }),
  }
}
