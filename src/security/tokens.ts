import { randomBytes, timingSafeEqual } from 'node:crypto'
import ipaddr from 'ipaddr.js'
import type { Clock } from '../base/clock.ts'
import { type Ids, sha256 } from '../base/ids.ts'
import { type Database, reusableQuery, type Writer } from '../storage/database.ts'
import type { AccessTokenRow, UserRow } from '../storage/tables.ts'

/**
 * The maximum entropy of a token in bits, from its alphabet. A repeated pattern counts as zero, because no generator
 * makes forty letters out of five.
 */
export function tokenBits(token: string): number {
  const secret = token.replace(/^fam_/, '')
  const distinct = new Set(secret).size
  const bitsPerLetter = /^[0-9a-f]+$/i.test(secret) ? 4 : 6
  return distinct < 10 ? 0 : secret.length * bitsPerLetter
}

export type TokenScope = AccessTokenRow['scope']

export interface Bearer {
  userId: string
  /** True only for tokens of the owner, whatever the scope. */
  isOwner: boolean
  scope: TokenScope
  tokenId: string
}

/** The credential that a daemon writes into its home at startup. No created token has this id. */
export const localTokenId = 'local'

/** A token can be read only at this moment: only its hash is stored. */
export interface MadeToken {
  tokenId: string
  token: string
}

export type AccessTokens = ReturnType<typeof createAccessTokens>

const prefix = 'fam_'
const environmentPrefix = 'environment-'
const maxTokenLength = 1024

const selectByHash = reusableQuery((database, token: { hash: string }) =>
  database
    .selectFrom('access_tokens')
    .innerJoin('users', 'users.id', 'access_tokens.user_id')
    .select(['access_tokens.id', 'user_id', 'scope', 'token_hash', 'role'])
    .where('token_hash', '=', token.hash)
    .where('revoked_at', 'is', null),
)

/** Access tokens. Nothing is cached: a revoked or rotated token is rejected from the next request on. */
export function createAccessTokens(dependencies: {
  database: Database
  clock: Clock
  ids: Ids
  random?: (size: number) => Uint8Array
}) {
  const { database, clock, ids, random = randomBytes } = dependencies

  async function insertToken(writer: Writer, userId: string, scope: TokenScope): Promise<MadeToken> {
    const token = prefix + Buffer.from(random(32)).toString('base64url')
    const tokenId = ids.next()
    const row = {
      id: tokenId,
      user_id: userId,
      token_hash: sha256(token),
      scope,
      created_at: clock.now(),
      revoked_at: null,
    }
    await writer.insertInto('access_tokens').values(row).execute()
    return { tokenId, token }
  }

  async function revokeRow(writer: Writer, tokenId: string): Promise<AccessTokenRow | undefined> {
    return writer
      .updateTable('access_tokens')
      .set({ revoked_at: clock.now() })
      .where('id', '=', tokenId)
      .where('revoked_at', 'is', null)
      .returningAll()
      .executeTakeFirst()
  }

  return {
    /** The owner of this home, created with this name at the first start. */
    ensureOwner: (userName: string) =>
      database.write(async (writer): Promise<UserRow> => {
        const known = await writer.selectFrom('users').selectAll().where('role', '=', 'owner').executeTakeFirst()
        if (known) return known
        const owner: UserRow = { id: ids.next(), name: userName, role: 'owner', tier: 'owner', created_at: clock.now() }
        await writer.insertInto('users').values(owner).execute()
        return owner
      }),

    createToken: (userId: string, scope: TokenScope) => database.write((writer) => insertToken(writer, userId, scope)),

    /** Undefined for an unknown or revoked token. */
    async verify(token: string): Promise<Bearer | undefined> {
      if (token.length === 0 || token.length > maxTokenLength) return undefined
      const hash = sha256(token)
      const [row] = (await selectByHash(database.read, { hash })).rows
      // The index compares hashes, which an attacker cannot steer; the final comparison takes constant time.
      if (!row || !timingSafeEqual(Buffer.from(row.token_hash), Buffer.from(hash))) return undefined
      return { userId: row.user_id, isOwner: row.role === 'owner', scope: row.scope, tokenId: row.id }
    },

    /** Replaces a token, keeping its user and scope; undefined if there is no such valid token. */
    rotate: (tokenId: string) =>
      database.write(async (writer) => {
        const old = await revokeRow(writer, tokenId)
        return old && insertToken(writer, old.user_id, old.scope)
      }),

    /** False if there was no such valid token. */
    revoke: (tokenId: string) => database.write(async (writer) => (await revokeRow(writer, tokenId)) !== undefined),

    async list(userId: string) {
      const rows = await database.read
        .selectFrom('access_tokens')
        .select(['id', 'scope', 'created_at'])
        .where('user_id', '=', userId)
        .where('revoked_at', 'is', null)
        .orderBy('created_at')
        .orderBy('id')
        .execute()
      return rows.map((row) => ({ tokenId: row.id, scope: row.scope, createdAt: row.created_at }))
    },

    /**
     * Makes the value of `FAMILIAR_TOKEN` a token of the owner, and revokes its value from an earlier start, even if it
     * is unset now. Other tokens stay.
     */
    setEnvironmentToken: (ownerId: string, token: string | null) =>
      database.write(async (writer): Promise<void> => {
        const hash = token === null ? '' : sha256(token)
        await writer
          .updateTable('access_tokens')
          .set({ revoked_at: clock.now() })
          .where('id', 'like', `${environmentPrefix}%`)
          .where('token_hash', '!=', hash)
          .where('revoked_at', 'is', null)
          .execute()
        if (token === null) return
        const id = `${environmentPrefix}${ids.next()}`
        const given = { user_id: ownerId, scope: 'owner', revoked_at: null } as const
        await writer
          .insertInto('access_tokens')
          .values({ id, token_hash: hash, created_at: clock.now(), ...given })
          .onConflict((conflict) => conflict.column('token_hash').doUpdateSet(given))
          .execute()
      }),
  }
}

/**
 * One text per client, however its address is written: `::ffff:127.0.0.1` is `127.0.0.1`. IPv6 counts by /64, the usual
 * assignment of one household or server; single addresses would be more than a limiter can track.
 */
export function canonicalAddress(address: string | undefined): string {
  const text = (address ?? '').replace(/^\[|\]$/g, '').replace(/%.*$/, '')
  if (!ipaddr.isValid(text)) return 'unknown'
  const parsed = ipaddr.process(text)
  if (parsed instanceof ipaddr.IPv4) return parsed.toString()
  return `${new ipaddr.IPv6([...parsed.parts.slice(0, 4), 0, 0, 0, 0]).toString()}/64`
}

type Admission = { ok: true } | { ok: false; retryAfterSeconds: number }

export type RateLimiter = ReturnType<typeof createRateLimiter>

/**
 * Limits the requests of one client. Loopback is no exception: any page in the user's browser and any program of
 * another user connects from there.
 */
export function createRateLimiter(options: {
  clock: Clock
  requestsPerMinute: number
  failuresPerMinute: number
  /** The number of tracked clients; when it is full, new ones share one allowance. */
  maxClients?: number
}) {
  const { clock, maxClients = 10_000 } = options
  const requests = createBuckets({ clock, perMinute: options.requestsPerMinute, maxClients })
  const failures = createBuckets({ clock, perMinute: options.failuresPerMinute, maxClients })
  return {
    admit: (address: string | undefined) => requests.take(canonicalAddress(address)),
    /** Whether this client may still try a token. Does not count. */
    mayAuthenticate: (address: string | undefined) => failures.look(canonicalAddress(address)),
    countFailure: (address: string | undefined) => void failures.take(canonicalAddress(address)),
  }
}

const overflow = 'overflow'
const sweepEveryMs = 1000

/** Token buckets: a minute's worth at once, refilled steadily. */
function createBuckets(options: { clock: Clock; perMinute: number; maxClients: number }) {
  const { clock, perMinute, maxClients } = options
  const perMs = perMinute / 60_000
  const buckets = new Map<string, { tokens: number; at: number }>()
  let sweptAt = Number.NEGATIVE_INFINITY

  function refilled(bucket: { tokens: number; at: number }): number {
    return Math.min(perMinute, bucket.tokens + (clock.now() - bucket.at) * perMs)
  }

  /** A full bucket is equivalent to a missing one. */
  function sweep() {
    if (clock.now() - sweptAt < sweepEveryMs) return
    sweptAt = clock.now()
    for (const [client, bucket] of buckets) if (refilled(bucket) >= perMinute) buckets.delete(client)
  }

  function keyOf(client: string): string {
    if (buckets.has(client)) return client
    if (buckets.size >= maxClients) sweep()
    return buckets.size >= maxClients ? overflow : client
  }

  function tokensOf(key: string): number {
    const bucket = buckets.get(key)
    return bucket ? refilled(bucket) : perMinute
  }

  function answer(tokens: number): Admission {
    if (tokens >= 1) return { ok: true }
    return { ok: false, retryAfterSeconds: Math.max(1, Math.ceil((1 - tokens) / perMs / 1000)) }
  }

  return {
    look: (client: string) => answer(tokensOf(keyOf(client))),
    take(client: string): Admission {
      const key = keyOf(client)
      const tokens = tokensOf(key)
      buckets.set(key, { tokens: tokens >= 1 ? tokens - 1 : tokens, at: clock.now() })
      return answer(tokens)
    },
  }
}
