import type { Clock } from '../../../src/base/clock.ts'
import { createIds } from '../../../src/base/ids.ts'
import { silentLogger } from '../../../src/base/logger.ts'
import { createPairing, createTelegramContacts } from '../../../src/channels/telegram/pairing.ts'
import { createTelegramDesk, type TelegramDesk } from '../../../src/channels/telegram/services.ts'
import type { Users } from '../../../src/security/users.ts'
import type { Database } from '../../../src/storage/database.ts'

/** Telegram for the owner, with a bot that was reached once and is not read. */
export function openTelegramDesk(home: {
  database: Database
  users: Users
  clock: Clock
  allowedIds?: readonly number[]
}): TelegramDesk {
  const { database, users, clock, allowedIds = [] } = home
  const contacts = createTelegramContacts({ database, users, allowedIds: () => allowedIds, clock })
  const pairing = createPairing({ database, contacts, clock, ids: createIds(clock), logger: silentLogger })
  const bot = { id: 4242, username: 'familiar_test_bot' }
  const status = () => ({ state: 'waiting' as const, bot, problem: 'it is a test', lastUpdateAt: null })
  return createTelegramDesk({ channel: () => ({ status }), contacts, pairing, users })
}
