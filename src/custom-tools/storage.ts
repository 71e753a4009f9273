import type { Clock } from '../base/clock.ts'
import { isDeeperThan, parseAnyJson } from '../base/json.ts'
import type { Redactor } from '../security/redactor.ts'
import { type Database, fitsIndex, maxIndexedBytes } from '../storage/database.ts'
import { describeByteSize } from './manifest.ts'
import type { StorageChanges } from './output.ts'

export type StoragePlace = { kind: 'kept'; capabilityId: string } | { kind: 'scratch' }

const maxBytes = 256 * 1024
const deepest = 64
const tooMuch = `It stores more than ${describeByteSize(maxBytes)}, so nothing of this call was stored.`

const tooLongKey = `a key of more than ${maxIndexedBytes} bytes.`

class TooMuch extends Error {}

/** The values that built tools keep between calls: JSON texts by key, separate for each tool. */
export function createCapabilityStorage(dependencies: {
  database: Database
  clock: Clock
  redactor: Pick<Redactor, 'redact'>
}) {
  const { database, clock, redactor } = dependencies

  function problemOf(changes: StorageChanges): string | undefined {
    for (const [key, text] of changes) {
      if (text === null) continue
      if (!fitsIndex(key)) return `The stored key ${key.slice(0, 60).toWellFormed()}… is ${tooLongKey}`
      const parsed = parseAnyJson(text)
      if (!parsed.ok || isDeeperThan(parsed.value, deepest))
        return `The stored value of ${key.slice(0, 60)} is not JSON.`
      // The database is no vault, and with the secret taken out the value would be another one.
      if (redactor.redact(key) !== key || redactor.redact(text) !== text) {
        return 'It tries to store a secret. Secrets are in context.secrets at every call and need not be stored.'
      }
    }
    const own = changes.filter(([, text]) => text !== null)
    return sizeOf(own) > maxBytes ? tooMuch : undefined
  }

  async function commit(capabilityId: string, changes: StorageChanges): Promise<void> {
    const now = clock.now()
    await database.write(async (writer) => {
      for (const [key, value] of changes) {
        if (value === null) {
          const ours = writer.deleteFrom('capability_storage').where('capability_id', '=', capabilityId)
          await ours.where('key', '=', key).execute()
          continue
        }
        await writer
          .insertInto('capability_storage')
          .values({ capability_id: capabilityId, key, value, updated_at: now })
          .onConflict((conflict) => conflict.columns(['capability_id', 'key']).doUpdateSet({ value, updated_at: now }))
          .execute()
      }
      const rows = writer.selectFrom('capability_storage').select(['key', 'value'])
      const all = await rows.where('capability_id', '=', capabilityId).execute()
      if (sizeOf(all.map(({ key, value }) => [key, value])) > maxBytes) throw new TooMuch()
    })
  }

  return {
    async read(place: StoragePlace): Promise<[key: string, value: string][]> {
      if (place.kind === 'scratch') return []
      const rows = database.read.selectFrom('capability_storage').select(['key', 'value'])
      const own = await rows.where('capability_id', '=', place.capabilityId).orderBy('key').execute()
      return own.map(({ key, value }) => [key, value])
    },
    /**
     * Key by key and in one unit, so that two calls at once lose nothing unless they write the same key. Returns why
     * nothing was written, or undefined.
     */
    async write(place: StoragePlace, changes: StorageChanges): Promise<string | undefined> {
      if (changes.length === 0) return undefined
      const problem = problemOf(changes)
      if (problem !== undefined || place.kind === 'scratch') return problem
      try {
        await commit(place.capabilityId, changes)
        return undefined
      } catch (cause) {
        if (cause instanceof TooMuch) return tooMuch
        throw cause
      }
    },
  }
}

function sizeOf(entries: StorageChanges): number {
  return entries.reduce((total, [key, value]) => total + Buffer.byteLength(key) + Buffer.byteLength(value ?? ''), 0)
}
