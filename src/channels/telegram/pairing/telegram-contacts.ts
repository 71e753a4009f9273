import type { Clock } from '../../../base/clock.ts'
import type { Users } from '../../../policy/users/users.ts'
import type { Database, Writer } from '../../../storage/database.ts'
import { foreignLine } from '../../../tools/builtin/foreign-text.ts'
import { telegramChannel } from '../out/telegram-payload.ts'

/** Somebody who may speak here. */
export interface TelegramContact {
  /** The number that Telegram gave them: names and handles there prove nothing (SEC-5). */
  id: number
  userId: string
  /** As they called themselves when they paired; empty for one that the config names. */
  name: string
  /** Null for one that the config names. */
  pairedAt: number | null
}

/** Who speaks as whom: the numbers of the config are the owner, and those who paired are whom their code was made for. */
export interface TelegramContacts {
  /** Undefined for a stranger. Asked anew for every update: what is taken away holds at once. */
  find(id: number): Promise<TelegramContact | undefined>
  list(): Promise<TelegramContact[]>
  add(writer: Writer, contact: { id: number; userId: string; name: string }): Promise<void>
  /** False where there is no such one, or only in the config. */
  remove(id: number): Promise<boolean>
}

export function createTelegramContacts(dependencies: {
  database: Database
  users: Pick<Users, 'list'>
  /** Of the config, as it is now. */
  allowedIds: () => readonly number[]
  clock: Clock
}): TelegramContacts {
  const { database, users, allowedIds, clock } = dependencies
  const paired = () => database.read.selectFrom('channel_contacts').selectAll().where('channel', '=', telegramChannel)

  function ownersOwn(id: number): TelegramContact | undefined {
    const owner = users.list().find(({ role }) => role === 'owner')
    return owner && { id, userId: owner.id, name: '', pairedAt: null }
  }

  return {
    async find(id) {
      if (allowedIds().includes(id)) return ownersOwn(id)
      const row = await paired().where('address', '=', String(id)).executeTakeFirst()
      return row && fromRow(row)
    },
    async list() {
      const rows = await paired().orderBy('paired_at').execute()
      const named = new Set(allowedIds())
      const owners = [...named].map(ownersOwn).filter((contact) => contact !== undefined)
      return [...owners, ...rows.map(fromRow).filter(({ id }) => !named.has(id))]
    },
    async add(writer, { id, userId, name }) {
      const written = { user_id: userId, name: foreignLine(name, 100), paired_at: clock.now() }
      await writer
        .insertInto('channel_contacts')
        .values({ channel: telegramChannel, address: String(id), ...written })
        .onConflict((conflict) => conflict.columns(['channel', 'address']).doUpdateSet(written))
        .execute()
    },
    remove: (id) =>
      database.write(async (writer) => {
        const { numDeletedRows } = await writer
          .deleteFrom('channel_contacts')
          .where('channel', '=', telegramChannel)
          .where('address', '=', String(id))
          .executeTakeFirst()
        return Number(numDeletedRows) > 0
      }),
  }
}

function fromRow(row: { address: string; user_id: string; name: string; paired_at: number }): TelegramContact {
  return { id: Number(row.address), userId: row.user_id, name: row.name, pairedAt: Number(row.paired_at) }
}
