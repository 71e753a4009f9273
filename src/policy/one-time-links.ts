import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { sha256 } from '../base/hash.ts'
import type { Ids } from '../base/ids.ts'
import type { OneTimeLinkRow } from '../storage/channel-tables.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'

export type LinkPurpose = OneTimeLinkRow['purpose']

/** A link that holds now: it was made, has not expired and was not used. */
export interface OneTimeLink {
  id: string
  userId: string
  purpose: LinkPurpose
  /** With `secret`: the question that it answers. */
  subject: string
  expiresAt: number
}

/**
 * Addresses that do one thing, once, for a short time. Whoever has the token is let do that without being asked who they
 * are; so it has 256 bits, only its hash is kept, and the one moment at which it can be read is when it is made.
 */
export interface OneTimeLinks {
  /** Takes what has expired out of the table, too. */
  make(wanted: { userId: string; purpose: LinkPurpose; subject: string; minutes: number }): Promise<{ token: string }>
  /** Changes nothing. Undefined whatever is wrong with it: nobody is told which. */
  peek(token: string, purpose: LinkPurpose): Promise<OneTimeLink | undefined>
  /** In the unit of the caller's, so that what the link does is written with it. Of two at once, one is undefined. */
  use(writer: Writer, token: string, purpose: LinkPurpose): Promise<OneTimeLink | undefined>
  /** What it was used for did not come about: until it expires, it can be used again. */
  giveBack(writer: Writer, link: OneTimeLink): Promise<void>
  /** Takes out what has expired; how many there were. */
  purge(writer: Writer): Promise<number>
}

const tokenShape = /^[A-Za-z0-9_-]{43}$/

export function createOneTimeLinks(dependencies: {
  database: Database
  clock: Clock
  ids: Ids
  random?: (size: number) => Uint8Array
}): OneTimeLinks {
  const { database, clock, ids, random = randomBytes } = dependencies

  async function purge(writer: Writer): Promise<number> {
    const { numDeletedRows } = await writer
      .deleteFrom('one_time_links')
      .where('expires_at', '<=', clock.now())
      .executeTakeFirst()
    return Number(numDeletedRows)
  }

  async function find(reader: Reader, token: string, purpose: LinkPurpose): Promise<OneTimeLink | undefined> {
    if (!tokenShape.test(token)) return undefined
    const hash = sha256(token)
    const row = await reader
      .selectFrom('one_time_links')
      .selectAll()
      .where('token_hash', '=', hash)
      .where('purpose', '=', purpose)
      .where('used_at', 'is', null)
      .where('expires_at', '>', clock.now())
      .executeTakeFirst()
    // As with access tokens: the last word has a comparison that takes the same time always.
    if (!row || !timingSafeEqual(Buffer.from(row.token_hash), Buffer.from(hash))) return undefined
    return fromRow(row)
  }

  return {
    make: ({ userId, purpose, subject, minutes }) =>
      database.write(async (writer) => {
        await purge(writer)
        const token = Buffer.from(random(32)).toString('base64url')
        const now = clock.now()
        const row: OneTimeLinkRow = {
          id: ids.next(),
          user_id: userId,
          token_hash: sha256(token),
          purpose,
          subject,
          created_at: now,
          expires_at: now + minutes * 60_000,
          used_at: null,
        }
        await writer.insertInto('one_time_links').values(row).execute()
        return { token }
      }),

    peek: (token, purpose) => find(database.read, token, purpose),

    async use(writer, token, purpose) {
      const link = await find(writer, token, purpose)
      if (!link) return undefined
      const { numUpdatedRows } = await writer
        .updateTable('one_time_links')
        .set({ used_at: clock.now() })
        .where('id', '=', link.id)
        .where('used_at', 'is', null)
        .executeTakeFirst()
      return Number(numUpdatedRows) === 1 ? link : undefined
    },

    async giveBack(writer, { id, userId }) {
      await writer
        .updateTable('one_time_links')
        .set({ used_at: null })
        .where('id', '=', id)
        .where('user_id', '=', userId)
        .execute()
    },

    purge,
  }
}

function fromRow({ id, user_id, purpose, subject, expires_at }: OneTimeLinkRow): OneTimeLink {
  return { id, userId: user_id, purpose, subject, expiresAt: Number(expires_at) }
}
