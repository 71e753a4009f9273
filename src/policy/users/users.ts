import type { Clock } from '../../base/clock.ts'
import type { Ids } from '../../base/ids.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { Database, Writer } from '../../storage/database.ts'
import type { UserRow } from '../../storage/tables.ts'
import type { AccessTokens, MadeToken, TokenScope } from '../access-tokens.ts'
import { closedTier, guestTierName, ownerTierName, type Tier } from './tier.ts'

export interface User {
  id: string
  name: string
  role: UserRow['role']
  /** As it is recorded, whether or not the config names it. */
  tier: string
  createdAt: number
}

interface AddedUser {
  user: User
  made: MadeToken
}

/**
 * Who uses this home beside its owner (USERS-1). What cannot be done is thrown as a FamiliarError. The records are held in
 * memory: every change goes through here, and holds for the next call.
 */
export interface Users {
  /** Reads the records. Before anything is asked; again where another hand has written some. */
  refresh(): Promise<void>
  /** The owner first, then by age. */
  list(): readonly User[]
  /** `not_found` where nobody has the name; upper and lower case are one. */
  named(name: string): User
  isOwner(userId: string): boolean
  /** At once, also after a change of the record or of the config. Who is unknown may do nothing. */
  tierOf(userId: string): Tier
  /** Whether the config names the tier. */
  hasTier(name: string): boolean
  add(request: { name: string; tier?: string | undefined; scope?: TokenScope | undefined }): Promise<AddedUser>
  setTier(name: string, tier: string): Promise<User>
  /** A new token in place of all that the user had, with the scope of the newest. */
  rotate(name: string): Promise<MadeToken>
  /** Refuses every token of the user from now on: the first step of a removal. */
  shutOut(userId: string): Promise<void>
  /** The record is gone, and so is what is held of it here. */
  forget(userId: string): void
}

const plainName = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}_-]{0,31}$/u
const usualScope: TokenScope = 'chat'

export function createUsers(dependencies: {
  database: Database
  tokens: Pick<AccessTokens, 'createToken' | 'revoke' | 'list'>
  clock: Clock
  ids: Ids
  /** As the config has them now, the built-in ones among them. */
  tiers: () => Readonly<Record<string, Tier>>
  /** Tells the redactor of every token that is made. */
  addSecret(secret: string): void
}): Users {
  const { database, tokens, clock, ids, tiers } = dependencies
  const users = new Map<string, User>()

  function find(name: string): User | undefined {
    const wanted = foldName(name)
    return [...users.values()].find((user) => foldName(user.name) === wanted)
  }

  function named(name: string): User {
    const user = find(name)
    if (!user) throw new FamiliarError('not_found', `There is no user named ${JSON.stringify(name)}`)
    return user
  }

  async function makeToken(userId: string, scope: TokenScope): Promise<MadeToken> {
    const made = await tokens.createToken(userId, scope)
    dependencies.addSecret(made.token)
    return made
  }

  /** The owner has everything, and nobody else is the owner. */
  function requireTier(name: string): void {
    if (name === ownerTierName) throw new FamiliarError('bad_request', 'The tier "owner" is the owner’s alone')
    if (Object.hasOwn(tiers(), name)) return
    const known = Object.keys(tiers()).filter((tier) => tier !== ownerTierName)
    throw new FamiliarError('bad_request', `There is no tier ${JSON.stringify(name)}; there are: ${known.join(', ')}`)
  }

  return {
    async refresh() {
      const rows = await database.read.selectFrom('users').selectAll().orderBy('created_at').orderBy('id').execute()
      users.clear()
      for (const row of rows) users.set(row.id, fromRow(row))
    },
    list: () => [...users.values()].sort((a, b) => Number(b.role === 'owner') - Number(a.role === 'owner')),
    named,
    isOwner: (userId) => users.get(userId)?.role === 'owner',
    tierOf(userId) {
      const name = users.get(userId)?.tier
      if (name === undefined) return closedTier('unknown')
      const known = tiers()
      return (Object.hasOwn(known, name) ? known[name] : undefined) ?? closedTier(name)
    },
    hasTier: (name) => Object.hasOwn(tiers(), name),
    async add({ name: given, tier = guestTierName, scope = usualScope }) {
      const name = given.normalize('NFC')
      if (!plainName.test(name)) {
        throw new FamiliarError(
          'bad_request',
          'A name has 1 to 32 letters, digits, "-" and "_", a letter or digit first',
        )
      }
      requireTier(tier)
      if (find(name)) throw nameTaken(name)
      const row: UserRow = { id: ids.next(), name, role: 'user', tier, created_at: clock.now() }
      const user = fromRow(row)
      // Held before it is written: a second one of the same name that comes meanwhile is refused.
      users.set(user.id, user)
      await database
        .write((writer) => insertUser(writer, row))
        .catch((cause) => {
          users.delete(user.id)
          throw cause
        })
      return { user, made: await makeToken(user.id, scope) }
    },
    async setTier(name, tier) {
      const user = named(name)
      if (user.role === 'owner') throw new FamiliarError('bad_request', 'The owner’s tier cannot be changed')
      requireTier(tier)
      await database.write((writer) =>
        writer.updateTable('users').set({ tier }).where('id', '=', user.id).where('role', '!=', 'owner').execute(),
      )
      const changed = { ...user, tier }
      users.set(user.id, changed)
      return changed
    },
    async rotate(name) {
      const user = named(name)
      if (user.role === 'owner') {
        throw new FamiliarError('bad_request', 'The owner’s token is made anew with: familiar token rotate')
      }
      const old = await tokens.list(user.id)
      const made = await makeToken(user.id, old.at(-1)?.scope ?? usualScope)
      for (const { tokenId } of old) await tokens.revoke(tokenId)
      return made
    },
    async shutOut(userId) {
      for (const { tokenId } of await tokens.list(userId)) await tokens.revoke(tokenId)
    },
    forget: (userId) => void users.delete(userId),
  }
}

/** Another daemon may have taken the name since the users were read here. */
async function insertUser(writer: Writer, row: UserRow): Promise<void> {
  const known = await writer.selectFrom('users').select('name').execute()
  if (known.some(({ name }) => foldName(name) === foldName(row.name))) throw nameTaken(row.name)
  await writer.insertInto('users').values(row).execute()
}

function nameTaken(name: string): FamiliarError {
  return new FamiliarError('conflict', `There is a user named ${name} already`)
}

function fromRow(row: UserRow): User {
  const { id, name, role, tier } = row
  return { id, name, role, tier, createdAt: Number(row.created_at) }
}

function foldName(name: string): string {
  return name.normalize('NFKC').toLowerCase()
}
