import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { sha256 } from '../base/hash.ts'
import type { Ids } from '../base/ids.ts'
import type { Database } from '../storage/database.ts'
import type { BrowserRow } from '../storage/page-tables.ts'
import type { Bearer } from './access-tokens.ts'
import type { OneTimeLinks } from './one-time-links.ts'

export interface SignedIn {
  userId: string
  browserId: string
  /** For a cookie that scripts cannot read. */
  cookie: string
  /** For the page itself, which sends it along. */
  pageKey: string
  expiresAt: number
}

interface Browser {
  id: string
  name: string
  createdAt: number
  seenAt: number
}

/**
 * Browsers that are signed in. Each proves itself by two keys: a cookie, which scripts cannot read, and a key of the page. Cookies
 * know no ports, so every other server on this machine is sent ours; what a page stores is its own origin's alone.
 */
export interface Browsers {
  /** Uses the code of a sign-in link up. Undefined whatever is wrong with it. */
  signIn(code: string, name: string): Promise<SignedIn | undefined>
  verify(keys: { cookie: string; pageKey: string }): Promise<Bearer | undefined>
  list(userId: string): Promise<Browser[]>
  /** One, or all of the user's. How many there were. */
  signOut(userId: string, browserId?: string): Promise<number>
}

const lifeMs = 30 * 24 * 3_600_000
/** Using it makes it live longer; once an hour is often enough to write that down. */
const touchMs = 3_600_000
const keyShape = /^[A-Za-z0-9_-]{43}$/
export const browserTokenPrefix = 'browser:'

export function createBrowsers(dependencies: {
  database: Database
  links: Pick<OneTimeLinks, 'use'>
  clock: Clock
  ids: Ids
  random?: (size: number) => Uint8Array
}): Browsers {
  const { database, links, clock, ids, random = randomBytes } = dependencies
  const newKey = () => Buffer.from(random(32)).toString('base64url')

  async function touch({ id, seen_at }: BrowserRow): Promise<void> {
    const now = clock.now()
    if (now - Number(seen_at) < touchMs) return
    const seen = { seen_at: now, expires_at: now + lifeMs }
    await database.write((writer) => writer.updateTable('browsers').set(seen).where('id', '=', id).execute())
  }

  return {
    signIn: (code, name) =>
      database.write(async (writer) => {
        const link = await links.use(writer, code, 'sign_in')
        if (!link) return undefined
        const now = clock.now()
        await writer.deleteFrom('browsers').where('expires_at', '<=', now).execute()
        const [cookie, pageKey] = [newKey(), newKey()]
        const row: BrowserRow = {
          id: ids.next(),
          user_id: link.userId,
          cookie_hash: sha256(cookie),
          page_hash: sha256(pageKey),
          name: name.slice(0, 200),
          created_at: now,
          seen_at: now,
          expires_at: now + lifeMs,
        }
        await writer.insertInto('browsers').values(row).execute()
        return { userId: link.userId, browserId: row.id, cookie, pageKey, expiresAt: row.expires_at }
      }),

    async verify({ cookie, pageKey }) {
      if (!keyShape.test(cookie) || !keyShape.test(pageKey)) return undefined
      const found = await database.read
        .selectFrom('browsers')
        .innerJoin('users', 'users.id', 'browsers.user_id')
        .selectAll('browsers')
        .select('role')
        .where('cookie_hash', '=', sha256(cookie))
        .where('expires_at', '>', clock.now())
        .executeTakeFirst()
      if (!found || !isSame(found.page_hash, sha256(pageKey))) return undefined
      await touch(found)
      return {
        userId: found.user_id,
        isOwner: found.role === 'owner',
        scope: 'owner',
        tokenId: `${browserTokenPrefix}${found.id}`,
      }
    },

    async list(userId) {
      const rows = await database.read
        .selectFrom('browsers')
        .selectAll()
        .where('user_id', '=', userId)
        .where('expires_at', '>', clock.now())
        .orderBy('seen_at', 'desc')
        .execute()
      return rows.map((row) => ({
        id: row.id,
        name: row.name,
        createdAt: Number(row.created_at),
        seenAt: Number(row.seen_at),
      }))
    },

    signOut: (userId, browserId) =>
      database.write(async (writer) => {
        let ended = writer.deleteFrom('browsers').where('user_id', '=', userId)
        if (browserId !== undefined) ended = ended.where('id', '=', browserId)
        return Number((await ended.executeTakeFirst()).numDeletedRows)
      }),
  }
}

function isSame(one: string, other: string): boolean {
  return timingSafeEqual(Buffer.from(one), Buffer.from(other))
}
