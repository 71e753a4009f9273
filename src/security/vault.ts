import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { link, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { syncDirectory, writeFileAtomically } from '../base/files.ts'
import { camelKeys } from '../base/json.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { SecretRow } from '../storage/tables.ts'
import type { Redactor } from './redactor.ts'

/** The result of the start. With `ok: false` no secret could be read, and the message says what to do. */
type VaultState = { ok: true; count: number; unreadable: readonly SecretName[] } | { ok: false; message: string }

export type Vault = ReturnType<typeof createVault>

const maxCharacters = 64 * 1024

/**
 * Stored secrets: sealed rows in the database, and the key in a separate file. One process at a time has it open: the
 * one that holds the home's lock. Errors are thrown as a FamiliarError that says what to do.
 */
export function createVault(dependencies: {
  database: Database
  keyFile: string
  clock: Clock
  redactor: Pick<Redactor, 'add'>
  onStep?(step: RotationStep): void
}) {
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

  /** Retried after a failure: the user may have repaired the file. */
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

  /** Serialized: no row may be sealed with a key that is being replaced. */
  function inTurn<T>(task: () => Promise<T>): Promise<T> {
    const result = turn.then(task)
    turn = result.catch(() => {})
    return result
  }

  function openRow(row: SecretRow): string {
    const key = keys.get(row.key_id)
    const value = key?.open(nameOf(row), row.sealed)
    if (value !== undefined) return value
    const reason = key ? 'is damaged' : `was not encrypted with the key ${keyFile}`
    throw new FamiliarError(
      'conflict',
      `The secret ${row.name} of ${row.owner} cannot be read: it ${reason}. Restore the key file from that time, or set the secret again.`,
    )
  }

  return {
    /** The redactor knows the value before it is written. False: it is too short or too ordinary to be found in text. */
    async set(secret: SecretName, value: string): Promise<{ isRedacted: boolean }> {
      if (value === '' || value.length > maxCharacters) {
        throw new FamiliarError('bad_request', `A secret must have 1 to ${maxCharacters} characters`)
      }
      const isRedacted = redactor.add(value)
      return inTurn(async () => {
        const key = await loadKey()
        const sealed = { key_id: key.id, sealed: key.seal(secret, value), updated_at: clock.now() }
        await database.write((writer) =>
          writer
            .insertInto('secrets')
            .values({ ...columnsOf(secret), ...sealed })
            .onConflict((conflict) => conflict.columns(['user_id', 'owner', 'name']).doUpdateSet(sealed))
            .execute(),
        )
        return { isRedacted }
      })
    },
    async get(secret: SecretName): Promise<string | undefined> {
      await loadKey()
      const row = await database.read
        .selectFrom('secrets')
        .selectAll()
        .where((where) => where.and(columnsOf(secret)))
        .executeTakeFirst()
      return row && openRow(row)
    },
    /** Every readable secret of an owner, by name. */
    async values(userId: string, owner: string): Promise<Record<string, string>> {
      const rows = await database.read
        .selectFrom('secrets')
        .selectAll()
        .where('user_id', '=', userId)
        .where('owner', '=', owner)
        .execute()
      if (rows.length === 0) return {}
      await loadKey()
      return Object.fromEntries(
        rows.flatMap((row) => {
          const value = keys.get(row.key_id)?.open(nameOf(row), row.sealed)
          return value === undefined ? [] : [[row.name, value]]
        }),
      )
    },
    /** Whether it existed. */
    async delete(secret: SecretName): Promise<boolean> {
      const deleted = await database.write((writer) =>
        writer
          .deleteFrom('secrets')
          .where((where) => where.and(columnsOf(secret)))
          .executeTakeFirst(),
      )
      return Number(deleted.numDeletedRows) > 0
    },
    /** Never the values. All owners if none is given. */
    async names(userId: string, owner?: string) {
      let query = database.read.selectFrom('secrets').select(['owner', 'name', 'updated_at'])
      query = query.where('user_id', '=', userId)
      if (owner !== undefined) query = query.where('owner', '=', owner)
      const rows = await query.orderBy('owner').orderBy('name').execute()
      return rows.map((row) => camelKeys(row))
    },
    /** Registers every value with the redactor. Must be called once, before anything is logged, stored or asked. */
    async teachRedactor(): Promise<VaultState> {
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
    /** The same key for the same purpose until rotation; creates the vault key if nothing was sealed yet. */
    async deriveKey(purpose: string): Promise<Buffer> {
      return (await loadKey()).derive(`for ${purpose}`)
    },
    /** Seals everything with a new key. `discardLost` removes unreadable secrets; without it they stop the rotation. */
    rotateKey({ discardLost = false } = {}): Promise<RotationOutcome> {
      return inTurn(async () => {
        const current = await loadKey().catch((cause) => {
          if (discardLost && cause instanceof LostKey) return undefined
          throw cause
        })
        // The rows decide which key is valid, also after a failure.
        loading = undefined
        return rotateVaultKey({ database, keyFile, current, discardLost, onKey: learnKey, onStep })
      })
    },
  }
}

function nameOf(row: SecretRow): SecretName {
  return { userId: row.user_id, owner: row.owner, name: row.name }
}

function columnsOf({ userId, owner, name }: SecretName) {
  return { user_id: userId, owner, name }
}

const keyBytes = 32
// As text, so that it survives being copied, mailed or printed.
const pattern = /^[0-9a-f]{64}\n?$/

/**
 * Reads the key file; undefined if there is none. A key that another user could have read or written is rejected with
 * an error that says what to do.
 */
export async function readKeyFile(path: string): Promise<Buffer | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT') return undefined
    if (cause.code !== 'ELOOP') throw cause
    throw refused(`${path} is a symlink, which could be redirected. Replace it with the key file itself.`)
  })
  if (!file) return undefined
  try {
    // Of the open file, not of its name, which may point elsewhere by now.
    const found = await file.stat()
    if (!found.isFile()) throw refused(`${path} is not a file. It must contain the key for secrets.`)
    const user = process.geteuid?.()
    if (user !== undefined && found.uid !== user) throw refused(`${path} belongs to another user.`)
    if (found.mode & 0o077) {
      throw refused(
        `Other users of this machine can read ${path}. Restrict it (chmod 600 ${path}), then replace the key, since it may have been read: familiar secrets rotate-key`,
      )
    }
    const text = found.size <= keyBytes * 2 + 1 ? await file.readFile('latin1') : ''
    if (!pattern.test(text)) {
      throw refused(
        `${path} contains no valid key (${found.size} bytes, not ${keyBytes * 2} hexadecimal digits). Restore the previous file.`,
      )
    }
    return Buffer.from(text.trim(), 'hex')
  } finally {
    await file.close()
  }
}

/** Creates a key that survives a power cut; if another process was faster, returns that key. */
export async function makeKeyFile(path: string): Promise<Buffer> {
  const temporary = `${path}.${randomUUID()}.new`
  const key = randomBytes(keyBytes)
  await writeKeyFile(temporary, key)
  try {
    await link(temporary, path)
    await syncDirectory(dirname(path))
    return key
  } catch (cause) {
    const isTaken = (cause as NodeJS.ErrnoException).code === 'EEXIST'
    const existing = isTaken ? await readKeyFile(path) : undefined
    if (!existing) throw cause
    return existing
  } finally {
    await rm(temporary, { force: true })
  }
}

async function writeKeyFile(path: string, key: Buffer): Promise<void> {
  await writeFileAtomically(path, `${key.toString('hex')}\n`)
}

/** Atomic and durable. */
async function replaceKeyFile(path: string, replacement: string): Promise<void> {
  await rename(replacement, path)
  await syncDirectory(dirname(path))
}

function refused(message: string): FamiliarError {
  return new FamiliarError('forbidden', message)
}

/** Identifies a secret. Bound into the seal: a row that is moved to another user, tool or name does not open. */
export interface SecretName {
  userId: string
  /** `tool:weather`, `mcp:calendar`. */
  owner: string
  name: string
}

interface VaultKey {
  /** Identifies the key without revealing it. */
  readonly id: string
  /** Different each time. */
  seal(secret: SecretName, value: string): string
  /** Undefined if it was sealed with another key or for another name, or is damaged. */
  open(secret: SecretName, sealed: string): string | undefined
  /** A separate key per purpose: none of them reveals another or the vault key. */
  derive(purpose: string): Buffer
}

const algorithm = 'aes-256-gcm'
const nonceBytes = 12
const tagBytes = 16

export function createVaultKey(key: Buffer): VaultKey {
  const derive = (purpose: string) => Buffer.from(hkdfSync('sha256', key, '', `familiar ${purpose}`, 32))
  const sealing = derive('seal')
  const id = derive('id').toString('hex').slice(0, 16)

  function boundTo({ userId, owner, name }: SecretName): Buffer {
    return Buffer.from(JSON.stringify([id, userId, owner, name]))
  }

  return {
    id,
    seal(secret, value) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv(algorithm, sealing, nonce, { authTagLength: tagBytes }).setAAD(boundTo(secret))
      return Buffer.concat([nonce, cipher.update(value, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString(
        'base64',
      )
    },
    open(secret, sealed) {
      const bytes = Buffer.from(sealed, 'base64')
      if (bytes.length < nonceBytes + tagBytes) return undefined
      const decipher = createDecipheriv(algorithm, sealing, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
        .setAAD(boundTo(secret))
        .setAuthTag(bytes.subarray(-tagBytes))
      try {
        const opened = decipher.update(bytes.subarray(nonceBytes, -tagBytes))
        return Buffer.concat([opened, decipher.final()]).toString('utf8')
      } catch {
        return undefined
      }
    },
    derive,
  }
}

/** The file of a new key while the secrets are being sealed again. */
function nextKeyFile(keyFile: string): string {
  return `${keyFile}.next`
}

/**
 * The key that the stored secrets are sealed with; created if there is none and nothing is sealed. An interrupted
 * rotation is first completed or undone, depending on which key the rows name: they change in one commit.
 */
async function loadVaultKey(database: Database, keyFile: string): Promise<{ key: VaultKey; text: string }> {
  const sealed = await countSealed(database)
  const next = await readKeyFile(nextKeyFile(keyFile))
  if (next) {
    if (sealed.has(createVaultKey(next).id)) await replaceKeyFile(keyFile, nextKeyFile(keyFile))
    else await rm(nextKeyFile(keyFile), { force: true })
  }
  const bytes = (await readKeyFile(keyFile)) ?? (await makeWhereNothingIsSealed(keyFile, sealed))
  return { key: createVaultKey(bytes), text: bytes.toString('hex') }
}

/** The number of secrets per key id. */
async function countSealed(database: Database): Promise<Map<string, number>> {
  const rows = await database.read
    .selectFrom('secrets')
    .select(['key_id', (count) => count.fn.countAll<number>().as('secrets')])
    .groupBy('key_id')
    .execute()
  return new Map(rows.map(({ key_id, secrets }) => [key_id, Number(secrets)]))
}

/** Replacing a lost key would make a temporary problem, such as an unmounted disk, permanent. */
async function makeWhereNothingIsSealed(keyFile: string, sealed: ReadonlyMap<string, number>): Promise<Buffer> {
  const count = [...sealed.values()].reduce((sum, secrets) => sum + secrets, 0)
  if (count === 0) return makeKeyFile(keyFile)
  throw new LostKey(
    `The key ${keyFile} is missing, and ${count === 1 ? 'the secret that was' : `the ${count} secrets that were`} encrypted with it cannot be read without it. Restore the file from a backup. If it is lost, remove the unreadable secrets and set them again: familiar secrets rotate-key --discard-lost`,
  )
}

class LostKey extends FamiliarError {
  constructor(message: string) {
    super('conflict', message)
    this.name = 'LostKey'
  }
}

interface RotationOutcome {
  sealed: number
  discarded: number
}

/** For tests that end the process there. */
export type RotationStep = 'key_written' | 'sealed_anew' | 'committed' | 'key_replaced'

/**
 * Creates a new key and seals every secret with it. The old key stays in its file until the rows are committed;
 * wherever the process is interrupted, `loadVaultKey` finds a key that opens them all. With `current` undefined or
 * `discardLost`, unreadable secrets are removed; otherwise they stop the rotation and nothing changes.
 */
async function rotateVaultKey(options: {
  database: Database
  keyFile: string
  current: VaultKey | undefined
  discardLost: boolean
  /** Called before the key is used for the first row. */
  onKey(key: VaultKey, text: string): void
  onStep(step: RotationStep): void
}): Promise<RotationOutcome> {
  const { database, keyFile, onStep } = options
  const bytes = randomBytes(keyBytes)
  const key = createVaultKey(bytes)
  const waiting = nextKeyFile(keyFile)
  options.onKey(key, bytes.toString('hex'))
  await writeKeyFile(waiting, bytes)
  onStep('key_written')
  try {
    const outcome = await database.write(async (writer) => {
      const done = await sealAnew(writer, { ...options, key })
      onStep('sealed_anew')
      return done
    })
    onStep('committed')
    await replaceKeyFile(keyFile, waiting)
    onStep('key_replaced')
    return outcome
  } catch (cause) {
    await dropUnlessUsed(database, waiting, key)
    throw cause
  }
}

async function sealAnew(
  writer: Writer,
  { current, key, discardLost }: { current: VaultKey | undefined; key: VaultKey; discardLost: boolean },
): Promise<RotationOutcome> {
  const outcome = { sealed: 0, discarded: 0 }
  for (const row of await writer.selectFrom('secrets').selectAll().execute()) {
    const secret = nameOf(row)
    const value = row.key_id === current?.id ? current.open(secret, row.sealed) : undefined
    if (value === undefined && !discardLost) throw unreadable(secret)
    const isRow = columnsOf(secret)
    if (value === undefined) {
      await writer
        .deleteFrom('secrets')
        .where((where) => where.and(isRow))
        .execute()
      outcome.discarded += 1
    } else {
      const sealed = { key_id: key.id, sealed: key.seal(secret, value) }
      await writer
        .updateTable('secrets')
        .set(sealed)
        .where((where) => where.and(isRow))
        .execute()
      outcome.sealed += 1
    }
  }
  return outcome
}

/**
 * A commit may have succeeded although it was reported as failed: then the new key is the only one that opens the rows.
 */
async function dropUnlessUsed(database: Database, waiting: string, key: VaultKey): Promise<void> {
  const used = await database.read.selectFrom('secrets').select('name').where('key_id', '=', key.id).executeTakeFirst()
  if (!used) await rm(waiting, { force: true })
}

function unreadable({ owner, name }: SecretName): FamiliarError {
  return new FamiliarError(
    'conflict',
    `${name} of ${owner} cannot be read with this key, so no new key was made. Set the secret again, or remove unreadable ones: familiar secrets rotate-key --discard-lost`,
  )
}
