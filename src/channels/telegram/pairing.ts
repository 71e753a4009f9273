import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { type Ids, sha256 } from '../../base/ids.ts'
import type { Logger } from '../../base/logger.ts'
import { setNewest } from '../../base/work.ts'
import type { Users } from '../../security/users.ts'
import type { Database, Writer } from '../../storage/database.ts'
import { foreignLine } from '../../tools/documents/foreign-text.ts'
import { telegramChannel } from './sender.ts'

const lifeMs = 10 * 60_000
const triesOfOne = 5
const silenceMs = 60 * 60_000
const triesOfAll = 20
/** Of strangers, in memory: the oldest are dropped first. */
const maxSenders = 10_000

type PairingOutcome =
  | { kind: 'paired'; userId: string }
  | { kind: 'wrong' }
  /** Too many attempts: the code is not checked, and there is no reply. */
  | { kind: 'silenced' }

export type Pairing = ReturnType<typeof createPairing>

/** How a person on Telegram becomes a user here: with a single-use code, a short life and few attempts (SEC-5). */
export function createPairing(dependencies: {
  database: Database
  contacts: Pick<TelegramContacts, 'add'>
  clock: Clock
  ids: Ids
  logger: Logger
  random?: (size: number) => Uint8Array
}) {
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
    setNewest(wrongBy, senderId, { tries, since: clock.now() }, maxSenders)
    if (tries === triesOfOne) logger.warn('a person on Telegram tried too many pairing codes', { sender: senderId })
    wrongInAll += 1
    if (wrongInAll < triesOfAll) return
    wrongInAll = 0
    const voided = await database.write(async (writer) => {
      const { numDeletedRows } = await open(writer).executeTakeFirst()
      return Number(numDeletedRows)
    })
    if (voided > 0)
      logger.warn('too many wrong pairing codes on Telegram: open codes were invalidated', { codes: voided })
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
    // The index compares hashes, which an attacker cannot steer; the final comparison takes constant time.
    if (!row || !timingSafeEqual(Buffer.from(row.code_hash), Buffer.from(hash))) return undefined
    await writer.updateTable('pairing_codes').set({ used_at: clock.now() }).where('id', '=', row.id).execute()
    return row.user_id
  }

  return {
    /** The code can be read only now: only its hash is stored. */
    async makeCode(userId: string): Promise<{ code: string; expiresAt: number }> {
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
      // Earlier attempts were not for this code.
      wrongInAll = 0
      logger.info('created a pairing code for Telegram', { user: userId })
      return { code, expiresAt }
    },

    /** Checks typed text. The contact is written in the unit that uses the code up, with the writes of `also`. */
    async tryCode(
      { senderId, name, text }: { senderId: number; name: string; text: string },
      also?: (writer: Writer, userId: string) => Promise<void>,
    ): Promise<PairingOutcome> {
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
      logger.info('a person was paired on Telegram', { sender: senderId, user: userId })
      return { kind: 'paired', userId }
    },
  }
}

/** No characters that are confused when read aloud or typed: no 0 and O, no 1, I and L, no U and V. */
const alphabet = '23456789ABCDEFGHJKMNPQRSTWXYZ'
const length = 8

/** 29 to the power of 8: with twenty attempts in ten minutes, one in 25 billion. */
export function makePairingCode(random: (size: number) => Uint8Array): string {
  let code = ''
  while (code.length < length) {
    // Bytes above the last whole multiple are discarded, so that all characters are equally likely.
    for (const byte of random(length * 2)) {
      if (byte < 256 - (256 % alphabet.length) && code.length < length) code += alphabet[byte % alphabet.length]
    }
  }
  return code
}

/** Undefined if the typed text cannot be a code. Lower case, spaces and hyphens are accepted. */
export function readPairingCode(text: string): string | undefined {
  if (text.length > 40) return undefined
  const code = text.toUpperCase().replaceAll(/[\s-]/g, '')
  return code.length === length && [...code].every((letter) => alphabet.includes(letter)) ? code : undefined
}

function pairingCodeHash(code: string): string {
  return sha256(`pairing code:${code}`)
}

export interface TelegramContact {
  /** Telegram's number for the person: names and handles there prove nothing (SEC-5). */
  id: number
  userId: string
  /** The name at pairing; empty for a contact from the config. */
  name: string
  /** Null for a contact from the config. */
  pairedAt: number | null
}

export type TelegramContacts = ReturnType<typeof createTelegramContacts>

/** Maps people to users: ids in the config are the owner, and paired people are the user of their code. */
export function createTelegramContacts(dependencies: {
  database: Database
  users: Pick<Users, 'list'>
  allowedIds: () => readonly number[]
  clock: Clock
}) {
  const { database, users, allowedIds, clock } = dependencies
  const paired = () => database.read.selectFrom('channel_contacts').selectAll().where('channel', '=', telegramChannel)

  function ownersOwn(id: number): TelegramContact | undefined {
    const owner = users.list().find(({ role }) => role === 'owner')
    return owner && { id, userId: owner.id, name: '', pairedAt: null }
  }

  return {
    /** Undefined for a stranger. Checked for every update: removing access takes effect at once. */
    async find(id: number): Promise<TelegramContact | undefined> {
      if (allowedIds().includes(id)) return ownersOwn(id)
      const row = await paired().where('address', '=', String(id)).executeTakeFirst()
      return row && fromRow(row)
    },
    async list(): Promise<TelegramContact[]> {
      const rows = await paired().orderBy('paired_at').execute()
      const named = new Set(allowedIds())
      const owners = [...named].map(ownersOwn).filter((contact) => contact !== undefined)
      return [...owners, ...rows.map(fromRow).filter(({ id }) => !named.has(id))]
    },
    async add(writer: Writer, { id, userId, name }: { id: number; userId: string; name: string }) {
      const written = { user_id: userId, name: foreignLine(name, 100), paired_at: clock.now() }
      await writer
        .insertInto('channel_contacts')
        .values({ channel: telegramChannel, address: String(id), ...written })
        .onConflict((conflict) => conflict.columns(['channel', 'address']).doUpdateSet(written))
        .execute()
    },
    /** False if there is no such contact, or only in the config. */
    remove: (id: number): Promise<boolean> =>
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
