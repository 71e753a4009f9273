import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../../base/clock.ts'
import type { Ids } from '../../../base/ids.ts'
import type { Logger } from '../../../base/logger.ts'
import type { Database, Writer } from '../../../storage/database.ts'
import { telegramChannel } from '../out/telegram-payload.ts'
import { makePairingCode, pairingCodeHash, readPairingCode } from './pairing-code.ts'
import type { TelegramContacts } from './telegram-contacts.ts'

const lifeMs = 10 * 60_000
const triesOfOne = 5
const silenceMs = 60 * 60_000
const triesOfAll = 20
/** Of strangers, in memory: the oldest are let go first. */
const mostSenders = 10_000

type PairingOutcome =
  | { kind: 'paired'; userId: string }
  | { kind: 'wrong' }
  /** They tried too often: no code is looked at, and nothing is said. */
  | { kind: 'silenced' }

/** How a person on Telegram becomes a user here: with a code of one use, a short life and few tries (SEC-5). */
export interface Pairing {
  /** The one moment at which the code can be read: only its hash is kept. */
  makeCode(userId: string): Promise<{ code: string; expiresAt: number }>
  /** What somebody typed. The contact is written in the unit that uses the code up, with whatever `also` writes. */
  tryCode(
    attempt: { senderId: number; name: string; text: string },
    also?: (writer: Writer, userId: string) => Promise<void>,
  ): Promise<PairingOutcome>
}

export function createPairing(dependencies: {
  database: Database
  contacts: Pick<TelegramContacts, 'add'>
  clock: Clock
  ids: Ids
  logger: Logger
  random?: (size: number) => Uint8Array
}): Pairing {
  const { database, contacts, clock, ids, logger, random = randomBytes } = dependencies
  const wrongBy = new Map<number, { tries: number; since: number }>()
  let wrongInAll = 0

  function isSilenced(senderId: number): boolean {
    const known = wrongBy.get(senderId)
    if (!known) return false
    if (clock.now() - known.since < silenceMs) return known.tries >= triesOfOne
    wrongBy.delete(senderId)
    return false
  }

  async function countWrong(senderId: number): Promise<void> {
    const tries = (wrongBy.get(senderId)?.tries ?? 0) + 1
    wrongBy.delete(senderId)
    wrongBy.set(senderId, { tries, since: clock.now() })
    const oldest = wrongBy.size > mostSenders ? wrongBy.keys().next().value : undefined
    if (oldest !== undefined) wrongBy.delete(oldest)
    if (tries === triesOfOne) logger.warn('somebody on Telegram tried too many pairing codes', { sender: senderId })
    wrongInAll += 1
    if (wrongInAll < triesOfAll) return
    wrongInAll = 0
    const voided = await database.write(async (writer) => {
      const { numDeletedRows } = await open(writer).executeTakeFirst()
      return Number(numDeletedRows)
    })
    if (voided > 0) logger.warn('too many wrong pairing codes on Telegram: the open ones are void', { codes: voided })
  }

  const open = (writer: Writer) =>
    writer.deleteFrom('pairing_codes').where('channel', '=', telegramChannel).where('used_at', 'is', null)

  /** In one unit: of two people who send the same code one is paired. */
  async function useCode(writer: Writer, code: string): Promise<string | undefined> {
    const hash = pairingCodeHash(code)
    const row = await writer
      .selectFrom('pairing_codes')
      .selectAll()
      .where('channel', '=', telegramChannel)
      .where('code_hash', '=', hash)
      .where('used_at', 'is', null)
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()
    // The index compares hashes, which nobody can steer; the last word has a comparison that takes the same time always.
    if (!row || !timingSafeEqual(Buffer.from(row.code_hash), Buffer.from(hash))) return undefined
    await writer.updateTable('pairing_codes').set({ used_at: clock.now() }).where('id', '=', row.id).execute()
    return row.user_id
  }

  return {
    async makeCode(userId) {
      const code = makePairingCode(random)
      const now = clock.now()
      const expiresAt = now + lifeMs
      const row = { id: ids.next(), channel: telegramChannel, user_id: userId, code_hash: pairingCodeHash(code) }
      await database.write(async (writer) => {
        await writer.deleteFrom('pairing_codes').where('expires_at', '<=', now).execute()
        const times = { created_at: now, expires_at: expiresAt, used_at: null }
        await writer
          .insertInto('pairing_codes')
          .values({ ...row, ...times })
          .execute()
      })
      // The tries before were not at this one.
      wrongInAll = 0
      logger.info('a pairing code for Telegram was made', { user: userId })
      return { code, expiresAt }
    },

    async tryCode({ senderId, name, text }, also) {
      if (isSilenced(senderId)) return { kind: 'silenced' }
      const code = readPairingCode(text)
      const userId =
        code &&
        (await database.write(async (writer) => {
          const user = await useCode(writer, code)
          if (user === undefined) return undefined
          await contacts.add(writer, { id: senderId, userId: user, name })
          await also?.(writer, user)
          return user
        }))
      if (userId === undefined) {
        await countWrong(senderId)
        return { kind: 'wrong' }
      }
      wrongBy.delete(senderId)
      logger.info('somebody paired on Telegram', { sender: senderId, user: userId })
      return { kind: 'paired', userId }
    },
  }
}
