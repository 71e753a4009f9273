import type { User, Users } from '../../policy/users/users.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { TelegramChannel } from './create-telegram-channel.ts'
import type { Pairing } from './pairing/pairing.ts'
import type { TelegramContact, TelegramContacts } from './pairing/telegram-contacts.ts'
import type { TelegramState } from './poll/telegram-state.ts'

interface MadePairingCode {
  code: string
  /** Opens the chat and sends the code; null while nobody knows what the bot is called. */
  link: string | null
  expiresAt: number
  user: User
}

/** What the owner asks of Telegram from this machine. It works while Telegram cannot be reached, too. */
export interface TelegramDesk {
  status(): TelegramState
  contacts(): Promise<(TelegramContact & { user: string })[]>
  /** For the owner unless another one is named. `conflict` where Telegram is not set up. */
  makeCode(userName?: string): Promise<MadePairingCode>
  /** `not_found`; `conflict` for one that the config names. */
  unpair(id: number): Promise<void>
}

export function createTelegramDesk(dependencies: {
  /** Undefined where Telegram is not set up. */
  channel: () => Pick<TelegramChannel, 'status'> | undefined
  contacts: TelegramContacts
  pairing: Pick<Pairing, 'makeCode'>
  users: Pick<Users, 'list' | 'named'>
}): TelegramDesk {
  const { channel, contacts, pairing, users } = dependencies
  const off: TelegramState = { state: 'off', bot: null, problem: null, lastUpdateAt: null }
  const status = () => channel()?.status() ?? { ...off, problem: 'it is not set up' }

  return {
    status,
    async contacts() {
      const names = new Map(users.list().map(({ id, name }) => [id, name]))
      return (await contacts.list()).map((contact) => ({ ...contact, user: names.get(contact.userId) ?? '' }))
    },
    async makeCode(userName) {
      if (!channel()) {
        throw new FamiliarError(
          'conflict',
          'Telegram is not set up: it needs [telegram] in familiar.toml and its token',
        )
      }
      const user = userName === undefined ? users.list().find(({ role }) => role === 'owner') : users.named(userName)
      if (!user) throw new FamiliarError('not_found', 'This home has no owner')
      const { code, expiresAt } = await pairing.makeCode(user.id)
      const bot = status().bot?.username
      return { code, link: bot ? `https://t.me/${bot}?start=${code}` : null, expiresAt, user }
    },
    async unpair(id) {
      if (await contacts.remove(id)) return
      if (await contacts.find(id)) {
        throw new FamiliarError('conflict', `${id} stands in the config: take it out of allowed_ids of [telegram]`)
      }
      throw new FamiliarError('not_found', `Nobody on Telegram with the number ${id} is paired`)
    },
  }
}
