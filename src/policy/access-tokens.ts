import { randomBytes, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { sha256 } from '../base/hash.ts'
import type { Ids } from '../base/ids.ts'
import type { Database, Writer } from '../storage/database.ts'
import { reusableQuery } from '../storage/reusable-query.ts'
import type { AccessTokenRow, UserRow } from '../storage/tables.ts'

export type TokenScope = AccessTokenRow['scope']

export interface Bearer {
  userId: string
  /** Of this home. A token of anybody else never is, whatever its scope. */
  isOwner: boolean
  scope: TokenScope
  tokenId: string
}

/** Whoever holds the credential that a daemon writes into its home at its start. No token that is made has this id. */
export const localTokenId = 'local'

/** The one moment at which a token can be read: only its hash is kept. */
export interface MadeToken {
  tokenId: string
  token: string
}

/**
 * Who may come in. Nothing is remembered between calls: what is revoked or rotated is refused from the next request on.
 */
export interface AccessTokens {
  /** The owner of this home, made with this name at the first start. */
  ensureOwner(userName: string): Promise<UserRow>
  createToken(userId: string, scope: TokenScope): Promise<MadeToken>
  /** Undefined for a token that was never made, or is revoked. */
  verify(token: string): Promise<Bearer | undefined>
  /** A new token in place of the old one, with its user and scope; undefined where there is no such valid token. */
  rotate(tokenId: string): Promise<MadeToken | undefined>
  /** False where there was no such valid token. */
  revoke(tokenId: string): Promise<boolean>
  list(userId: string): Promise<{ tokenId: string; scope: TokenScope; createdAt: number }[]>
  /**
   * Makes what `FAMILIAR_TOKEN` holds a token of the owner; the one that it held at an earlier start is revoked, also
   * where it holds none now. Other tokens stay.
   */
  setEnvironmentToken(ownerId: string, token: string | null): Promise<void>
}

const prefix = 'fam_'
const environmentPrefix = 'environment-'
const longestToken = 1024

const selectByHash = reusableQuery((database, token: { hash: string }) =>
  database
    .selectFrom('access_tokens')
    .innerJoin('users', 'users.id', 'access_tokens.user_id')
    .select(['access_tokens.id', 'user_id', 'scope', 'token_hash', 'role'])
    .where('token_hash', '=', token.hash)
    .where('revoked_at', 'is', null),
)

export function createAccessTokens(dependencies: {
  database: Database
  clock: Clock
  ids: Ids
  random?: (size: number) => Uint8Array
}): AccessTokens {
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
    ensureOwner: (userName) =>
      database.write(async (writer) => {
        const known = await writer.selectFrom('users').selectAll().where('role', '=', 'owner').executeTakeFirst()
        if (known) return known
        const owner: UserRow = { id: ids.next(), name: userName, role: 'owner', tier: 'owner', created_at: clock.now() }
        await writer.insertInto('users').values(owner).execute()
        return owner
      }),

    createToken: (userId, scope) => database.write((writer) => insertToken(writer, userId, scope)),

    async verify(token) {
      if (token.length === 0 || token.length > longestToken) return undefined
      const hash = sha256(token)
      const [row] = (await selectByHash(database.read, { hash })).rows
      // The index compares hashes, which nobody can steer; the last word has a comparison that takes the same time always.
      if (!row || !timingSafeEqual(Buffer.from(row.token_hash), Buffer.from(hash))) return undefined
      return { userId: row.user_id, isOwner: row.role === 'owner', scope: row.scope, tokenId: row.id }
    },

    rotate: (tokenId) =>
      database.write(async (writer) => {
        const old = await revokeRow(writer, tokenId)
        return old && insertToken(writer, old.user_id, old.scope)
      }),

    revoke: (tokenId) => database.write(async (writer) => (await revokeRow(writer, tokenId)) !== undefined),

    async list(userId) {
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

    setEnvironmentToken: (ownerId, token) =>
      database.write(async (writer) => {
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
        const row = {
          id,
          user_id: ownerId,
          token_hash: hash,
          scope: 'owner',
          created_at: clock.now(),
          revoked_at: null,
        } as const
        await writer
          .insertInto('access_tokens')
          .values(row)
          .onConflict((conflict) =>
            conflict.column('token_hash').doUpdateSet({ user_id: ownerId, scope: 'owner', revoked_at: null }),
          )
          .execute()
      }),
  }
}
