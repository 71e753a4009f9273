import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { type Ids, sha256 } from '../base/ids.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'
import type { BrowserRow, OneTimeLinkRow } from '../storage/feature-tables.ts'
import type { Bearer } from './tokens.ts'

export type LinkPurpose = OneTimeLinkRow['purpose']

/** A valid link: not expired and not used. */
export interface OneTimeLink {
  id: string
  userId: string
  purpose: LinkPurpose
  /** With `secret`: the question that it answers. */
  subject: string
  expiresAt: number
}

/**
 * Links that do one thing, once, for a short time. The token alone authorizes, so it has 256 bits, only its hash is
 * stored, and it can be read only when it is made.
 */
export interface OneTimeLinks {
  /** Also deletes expired links. */
  make(wanted: { userId: string; purpose: LinkPurpose; subject: string; minutes: number }): Promise<{ token: string }>
  /** Read-only. Undefined for every kind of invalid token, without saying which. */
  peek(token: string, purpose: LinkPurpose): Promise<OneTimeLink | undefined>
  /**
   * Runs in the caller's write unit, so that the link's effect is committed with it. Of two concurrent uses, one
   * returns undefined.
   */
  use(writer: Writer, token: string, purpose: LinkPurpose): Promise<OneTimeLink | undefined>
  /** The link's purpose failed: it can be used again until it expires. */
  giveBack(writer: Writer, link: OneTimeLink): Promise<void>
  /** Deletes expired links and returns how many. */
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
    // As with access tokens: the final comparison takes constant time.
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
 * Signed-in browsers. Each authenticates with two keys: a cookie, which scripts cannot read, and a page key. Cookies
 * ignore ports, so every other server on this machine receives ours; page storage is limited to its origin.
 */
export interface SignedInBrowsers {
  /** Uses up the code of a sign-in link. Undefined for every kind of invalid code. */
  signIn(code: string, name: string): Promise<SignedIn | undefined>
  verify(keys: { cookie: string; pageKey: string }): Promise<Bearer | undefined>
  list(userId: string): Promise<Browser[]>
  /** One browser, or all of the user's. Returns how many. */
  signOut(userId: string, browserId?: string): Promise<number>
}

const lifeMs = 30 * 24 * 3_600_000
/** Using it extends its life; writing that once an hour is enough. */
const touchMs = 3_600_000
const keyShape = /^[A-Za-z0-9_-]{43}$/
export const browserTokenPrefix = 'browser:'

export function createSignedInBrowsers(dependencies: {
  database: Database
  links: Pick<OneTimeLinks, 'use'>
  clock: Clock
  ids: Ids
  random?: (size: number) => Uint8Array
}): SignedInBrowsers {
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
