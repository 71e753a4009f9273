import type { Clock } from '../base/clock.ts'
import { FamiliarError } from '../protocol/error.ts'
import type { Database } from '../storage/database.ts'
import type { SecretRow } from '../storage/tables.ts'
import { LostKey, loadVaultKey } from './load-vault-key.ts'
import type { Redactor } from './redactor.ts'
import { type RotationOutcome, type RotationStep, rotateVaultKey } from './rotate-vault-key.ts'
import type { SecretName, VaultKey } from './vault-key.ts'

interface NamedSecret {
  owner: string
  name: string
  updatedAt: number
}

/** What was found at the start. With `ok: false` none could be read, and the message says what to do. */
type VaultState = { ok: true; count: number; unreadable: readonly SecretName[] } | { ok: false; message: string }

/**
 * Secrets at rest: sealed rows in the database, and the key in a file of its own. One process at a time has it open, the
 * one that holds the home's lock. What cannot be done is thrown as a FamiliarError whose message says what to do.
 */
export interface Vault {
  /** The redactor knows the value before it is written. False: it is too short or too ordinary to be found in text. */
  set(secret: SecretName, value: string): Promise<{ isRedacted: boolean }>
  get(secret: SecretName): Promise<string | undefined>
  /** Whether there was one. */
  delete(secret: SecretName): Promise<boolean>
  /** Never the values. All owners where none is named. */
  names(userId: string, owner?: string): Promise<NamedSecret[]>
  /** Tells the redactor every value. To be called once, before anything is logged, stored or asked. */
  teachRedactor(): Promise<VaultState>
  /** The same for the same purpose until the key is rotated; makes the key where nothing was sealed yet. */
  deriveKey(purpose: string): Promise<Buffer>
  /** Seals everything with a new key. `discardLost` removes what cannot be read; without it that stops the rotation. */
  rotateKey(options?: { discardLost?: boolean }): Promise<RotationOutcome>
}

const mostCharacters = 64 * 1024

export function createVault(dependencies: {
  database: Database
  keyFile: string
  clock: Clock
  redactor: Pick<Redactor, 'add'>
  onStep?(step: RotationStep): void
}): Vault {
  const { database, keyFile, clock, redactor, onStep = () => {} } = dependencies
  // During a rotation rows of both keys can be read.
  const keys = new Map<string, VaultKey>()
  let loading: Promise<VaultKey> | undefined
  let turn: Promise<unknown> = Promise.resolve()

  function learnKey(key: VaultKey, text: string): VaultKey {
    redactor.add(text)
    keys.set(key.id, key)
    return key
  }

  /** Tried again after a failure: the user may have put the file right. */
  function loadKey(): Promise<VaultKey> {
    loading ??= loadVaultKey(database, keyFile).then(
      ({ key, text }) => learnKey(key, text),
      (cause) => {
        loading = undefined
        throw cause
      },
    )
    return loading
  }

  /** One after the other: no row may be sealed with a key that is about to go. */
  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = turn.then(task)
    turn = result.catch(() => {})
    return result
  }

  function openRow(row: SecretRow): string {
    const secret = nameOf(row)
    const key = keys.get(row.key_id)
    const value = key?.open(secret, row.sealed)
    if (value === undefined) throw unreadable(secret, key ? 'is damaged' : `was not sealed with the key ${keyFile}`)
    return value
  }

  return {
    async set(secret, value) {
      if (value === '' || value.length > mostCharacters) {
        throw new FamiliarError('bad_request', `A secret has 1 to ${mostCharacters} characters`)
      }
      const isRedacted = redactor.add(value)
      return inTurn(async () => {
        const key = await loadKey()
        const sealed = { key_id: key.id, sealed: key.seal(secret, value), updated_at: clock.now() }
        await database.write((writer) =>
          writer
            .insertInto('secrets')
            .values({ user_id: secret.userId, owner: secret.owner, name: secret.name, ...sealed })
            .onConflict((conflict) => conflict.columns(['user_id', 'owner', 'name']).doUpdateSet(sealed))
            .execute(),
        )
        return { isRedacted }
      })
    },
    async get(secret) {
      await loadKey()
      const row = await database.read
        .selectFrom('secrets')
        .selectAll()
        .where('user_id', '=', secret.userId)
        .where('owner', '=', secret.owner)
        .where('name', '=', secret.name)
        .executeTakeFirst()
      return row && openRow(row)
    },
    async delete(secret) {
      const deleted = await database.write((writer) =>
        writer
          .deleteFrom('secrets')
          .where('user_id', '=', secret.userId)
          .where('owner', '=', secret.owner)
          .where('name', '=', secret.name)
          .executeTakeFirst(),
      )
      return Number(deleted.numDeletedRows) > 0
    },
    async names(userId, owner) {
      let query = database.read.selectFrom('secrets').select(['owner', 'name', 'updated_at'])
      query = query.where('user_id', '=', userId)
      if (owner !== undefined) query = query.where('owner', '=', owner)
      const rows = await query.orderBy('owner').orderBy('name').execute()
      return rows.map((row) => ({ owner: row.owner, name: row.name, updatedAt: Number(row.updated_at) }))
    },
    async teachRedactor() {
      const rows = await database.read.selectFrom('secrets').selectAll().execute()
      if (rows.length === 0) return { ok: true, count: 0, unreadable: [] }
      try {
        await loadKey()
      } catch (cause) {
        if (cause instanceof FamiliarError) return { ok: false, message: cause.message }
        throw cause
      }
      const values = rows.map((row) => keys.get(row.key_id)?.open(nameOf(row), row.sealed))
      for (const value of values) if (value !== undefined) redactor.add(value)
      const unreadable = rows.filter((_, index) => values[index] === undefined).map(nameOf)
      return { ok: true, count: rows.length - unreadable.length, unreadable }
    },
    async deriveKey(purpose) {
      return (await loadKey()).derive(`for ${purpose}`)
    },
    rotateKey({ discardLost = false } = {}) {
      return inTurn(async () => {
        const current = await loadKey().catch((cause) => {
          if (discardLost && cause instanceof LostKey) return undefined
          throw cause
        })
        // Which key holds now, also after a failure, is for the rows to say.
        loading = undefined
        return rotateVaultKey({ database, keyFile, current, discardLost, onKey: learnKey, onStep })
      })
    },
  }
}

function nameOf(row: SecretRow): SecretName {
  return { userId: row.user_id, owner: row.owner, name: row.name }
}

function unreadable({ owner, name }: SecretName, reason: string): FamiliarError {
  return new FamiliarError(
    'conflict',
    `The secret ${name} of ${owner} cannot be read: it ${reason}. Put the key file of that time back, or set the secret again.`,
  )
}
