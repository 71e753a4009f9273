import { randomBytes } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { systemClock } from '../../base/clock.ts'
import { plural } from '../../base/format.ts'
import type { BlobStore } from '../../storage/blobs/blob-store.ts'
import { createDirectoryBlobs } from '../../storage/blobs/directory-blobs.ts'
import { createS3Blobs } from '../../storage/blobs/s3/s3-blobs.ts'
import type { Config } from '../config/config.ts'
import type { SharedSettings } from '../config/read-shared.ts'
import { openS3 } from '../shared-place.ts'
import { type Finding, fail, ok, quoted, reasonOf, warn } from './finding.ts'

const check = 'shared place'
/** A signature is refused past fifteen. */
const mostSkewMs = 2 * 60_000

/**
 * Whether what daemons share can be reached, written and read again, and whether its clock says the same as this one. A
 * small file is put there for that and taken away; a bucket is asked only with `network`.
 */
export async function checkShared({ shared }: Pick<Config, 'shared'>, network: boolean): Promise<Finding[]> {
  if (!shared) return []
  if (shared.kind === 'directory') return await checkDirectory(shared)
  const { bucket, endpoint } = shared.s3
  const name = `bucket ${bucket} at ${endpoint}`
  return network ? await checkBucket(shared, name) : [ok(check, `${name}; not asked`)]
}

async function checkDirectory({ directory }: Extract<SharedSettings, { kind: 'directory' }>): Promise<Finding[]> {
  const probe = probeName()
  const store = createDirectoryBlobs({ directory })
  try {
    const { mtimeMs } = await tryOut(store, probe, () => stat(join(directory, probe)))
    return [ok(check, `${directory} can be read and written`), ...checkSkew(mtimeMs - Date.now(), directory)]
  } catch (error) {
    return [fail(check, `${directory}: ${reasonOf(error)}`, `ls -ld ${quoted(directory)}`)]
  }
}

async function checkBucket({ s3 }: Extract<SharedSettings, { kind: 's3' }>, name: string): Promise<Finding[]> {
  const { ask, close } = openS3({ s3, clock: systemClock(), random: Math.random, timeoutMs: 10_000 })
  try {
    const store = createS3Blobs({ ask, prefix: () => s3.prefix })
    const probe = probeName()
    const { date } = await tryOut(store, probe, () => ask({ method: 'HEAD', key: probe }))
    const skew = date === undefined ? [] : checkSkew(date - Date.now(), name)
    return [ok(check, `${name} can be read and written`), ...skew]
  } catch (error) {
    return [fail(check, reasonOf(error), `curl -sS -o /dev/null ${s3.endpoint}`)]
  } finally {
    await close()
  }
}

/** What comes back must be what was put. Nothing of it is left. */
async function tryOut<T>(store: BlobStore, probe: string, look: () => Promise<T>): Promise<T> {
  const bytes = randomBytes(64)
  await store.put(probe, bytes)
  try {
    const read = await store.get(probe)
    if (!read || Buffer.compare(read, bytes) !== 0) throw new Error('what was put there does not come back as it was')
    return await look()
  } finally {
    await store.delete(probe)
  }
}

function checkSkew(skewMs: number, place: string): Finding[] {
  if (Math.abs(skewMs) <= mostSkewMs) return []
  const minutes = plural(Math.round(Math.abs(skewMs) / 60_000), 'minute')
  const which = skewMs > 0 ? 'ahead of' : 'behind'
  return [warn(check, `The clock of ${place} is ${minutes} ${which} this one.`, 'sudo timedatectl set-ntp true')]
}

function probeName(): string {
  return `doctor-${randomBytes(8).toString('hex')}`
}
