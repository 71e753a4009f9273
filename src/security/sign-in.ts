import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { type Ids, sha256 } from '../base/ids.ts'
import { camelKeys, snakeKeys } from '../base/json.ts'
import type { Database, Reader, Writer } from '../storage/database.ts'
import type { BrowserRow, OneTimeLinkRow } from '../storage/feature-tables.ts'
import type { Bearer } from './tokens.ts'

export type LinkPurpose = OneTimeLinkRow['purpose']

/** A valid link: not expired and not used. With the purpose `secret`, `subject` is the question that it answers. */
export type OneTimeLink = ReturnType<typeof fromRow>

export type OneTimeLinks = ReturnType<typeof createOneTimeLinks>

/** 256 bits in base64url. */
const tokenShape = /^[A-Za-z0-9_-]{43}$/

/**
 * Links that do one thing, once, for a short time. The token alone authorizes, so it has 256 bits, only its hash is
 * stored, and it can be read only when it is made.
 */
export function createOneTimeLinks(dependencies: {
  database: Database
  clock: Clock
  ids: Ids
  random?: (size: number) => Uint8Array
}) {
  const { database, clock, ids, random = randomBytes } = dependencies

  /** Deletes expired links and returns how many. */
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
    return row && isSame(row.token_hash, hash) ? fromRow(row) : undefined
  }

  return {
    /** Also deletes expired links. */
    make: ({ minutes, ...wanted }: { userId: string; purpose: LinkPurpose; subject: string; minutes: number }) =>
      database.write(async (writer) => {
        await purge(writer)
        const token = Buffer.from(random(32)).toString('base64url')
        const now = clock.now()
        const times = { createdAt: now, expiresAt: now + minutes * 60_000, usedAt: null }
        const row: OneTimeLinkRow = snakeKeys({ id: ids.next(), tokenHash: sha256(token), ...wanted, ...times })
        await writer.insertInto('one_time_links').values(row).execute()
        return { token }
      }),

    /** Read-only. Undefined for every kind of invalid token, without saying which. */
    peek: (token: string, purpose: LinkPurpose) => find(database.read, token, purpose),

    /**
     * Runs in the caller's write unit, so that the link's effect is committed with it. Of two concurrent uses, one
     * returns undefined.
     */
    async use(writer: Writer, token: string, purpose: LinkPurpose): Promise<OneTimeLink | undefined> {
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

    /** The link's purpose failed: it can be used again until it expires. */
    async giveBack(writer: Writer, { id, userId }: OneTimeLink): Promise<void> {
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

function fromRow({ token_hash: _hash, created_at: _at, used_at: _used, ...row }: OneTimeLinkRow) {
  return camelKeys(row)
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

export type SignedInBrowsers = ReturnType<typeof createSignedInBrowsers>

const lifeMs = 30 * 24 * 3_600_000
/** Using it extends its life; writing that once an hour is enough. */
const touchMs = 3_600_000
export const browserTokenPrefix = 'browser:'

/**
 * Signed-in browsers. Each authenticates with two keys: a cookie, which scripts cannot read, and a page key. Cookies
 * ignore ports, so every other server on this machine receives ours; page storage is limited to its origin.
 */
export function createSignedInBrowsers(dependencies: {
  database: Database
  links: Pick<OneTimeLinks, 'use'>
  clock: Clock
  ids: Ids
  random?: (size: number) => Uint8Array
}) {
  const { database, links, clock, ids, random = randomBytes } = dependencies
  const newKey = () => Buffer.from(random(32)).toString('base64url')

  async function touch({ id, seen_at }: BrowserRow): Promise<void> {
    const now = clock.now()
    if (now - Number(seen_at) < touchMs) return
    const seen = { seen_at: now, expires_at: now + lifeMs }
    await database.write((writer) => writer.updateTable('browsers').set(seen).where('id', '=', id).execute())
  }

  return {
    /** Uses up the code of a sign-in link. Undefined for every kind of invalid code. */
    signIn: (code: string, name: string) =>
      database.write(async (writer): Promise<SignedIn | undefined> => {
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

    async verify({ cookie, pageKey }: { cookie: string; pageKey: string }): Promise<Bearer | undefined> {
      if (!tokenShape.test(cookie) || !tokenShape.test(pageKey)) return undefined
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

    async list(userId: string) {
      const rows = await database.read
        .selectFrom('browsers')
        .select(['id', 'name', 'created_at', 'seen_at'])
        .where('user_id', '=', userId)
        .where('expires_at', '>', clock.now())
        .orderBy('seen_at', 'desc')
        .execute()
      return rows.map((row) => camelKeys(row))
    },

    /** One browser, or all of the user's. Returns how many. */
    signOut: (userId: string, browserId?: string) =>
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
