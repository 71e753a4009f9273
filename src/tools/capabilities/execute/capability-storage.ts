import type { Clock } from '../../../base/clock.ts'
import { parseAnyJson } from '../../../base/json.ts'
import type { Redactor } from '../../../secrets/redactor.ts'
import type { Database } from '../../../storage/database.ts'
import { fitsIndex, longestIndexedBytes } from '../../../storage/index-key.ts'
import { isDeeperThan } from '../../contract/json-depth.ts'
import { describeByteSize } from '../../contract/manifest/byte-size.ts'
import type { CapabilityExecutor } from './executor.ts'
import type { StorageChanges } from './harness-report.ts'

type StoragePlace = Parameters<CapabilityExecutor['run']>[0]['storage']
type StoredEntries = [key: string, value: string][]

/** What capabilities keep between calls: JSON texts by key, each capability its own. */
interface CapabilityStorage {
  read(place: StoragePlace): Promise<StoredEntries>
  /**
   * Key by key and all of them in one unit, so that two calls at once lose nothing but where they wrote the same key.
   * Returns why nothing was written, or undefined.
   */
  write(place: StoragePlace, changes: StorageChanges): Promise<string | undefined>
}

const mostBytes = 256 * 1024
const deepest = 64
const tooMuch = `It stores more than ${describeByteSize(mostBytes)}, so nothing of this call was stored.`

const tooLongKey = `a key of more than ${longestIndexedBytes} bytes.`

class TooMuch extends Error {}

export function createCapabilityStorage(dependencies: {
  database: Database
  clock: Clock
  redactor: Pick<Redactor, 'redact'>
}): CapabilityStorage {
  const { database, clock, redactor } = dependencies

  function problemOf(changes: StorageChanges): string | undefined {
    for (const [key, text] of changes) {
      if (text === null) continue
      if (!fitsIndex(key)) return `What it stores under ${key.slice(0, 60).toWellFormed()}… has ${tooLongKey}`
      const parsed = parseAnyJson(text)
      if (!parsed.ok || isDeeperThan(parsed.value, deepest))
        return `What it stores under ${key.slice(0, 60)} is no JSON.`
      // The database is no vault, and with the secret taken out the value would be another one.
      if (redactor.redact(key) !== key || redactor.redact(text) !== text) {
        return 'It tries to store a secret. Secrets are in context.secrets at every call and need not be stored.'
      }
    }
    const own = changes.filter(([, text]) => text !== null)
    return sizeOf(own) > mostBytes ? tooMuch : undefined
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
      if (sizeOf(all.map(({ key, value }) => [key, value])) > mostBytes) throw new TooMuch()
    })
  }

  return {
    async read(place) {
      if (place.kind === 'scratch') return []
      const rows = database.read.selectFrom('capability_storage').select(['key', 'value'])
      const own = await rows.where('capability_id', '=', place.capabilityId).orderBy('key').execute()
      return own.map(({ key, value }) => [key, value])
    },
    async write(place, changes) {
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
