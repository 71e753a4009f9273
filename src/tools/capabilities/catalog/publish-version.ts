import type { Clock } from '../../../base/clock.ts'
import type { Ids } from '../../../base/ids.ts'
import { FamiliarError } from '../../../protocol/error.ts'
import type { Database, Writer } from '../../../storage/database.ts'
import type { VersionKey, VersionStore } from '../versions/version-store.ts'
import { manifestColumns, selectCapabilities } from './capability-record.ts'
import type { CapabilityCatalog } from './catalog.ts'
import type { VersionRecords } from './version-records.ts'

const attempts = 5

interface Needs {
  database: Database
  versions: VersionStore
  records: VersionRecords
  clock: Clock
  ids: Ids
}

/**
 * The directory first, whole and on the disk, then everything else in one unit: a crash in between leaves a directory that
 * no row names. Nobody else here may publish meanwhile: the number is chosen first. Where another daemon was quicker with
 * that number, the next one is taken.
 */
export async function publishVersion(
  dependencies: Needs,
  published: Parameters<CapabilityCatalog['publish']>[0],
): Promise<VersionKey> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await publishOnce(dependencies, published)
    if (outcome.ok) return outcome.key
    if (!outcome.isOvertaken || attempt === attempts) throw outcome.cause
  }
}

async function publishOnce(
  dependencies: Needs,
  published: Parameters<CapabilityCatalog['publish']>[0],
): Promise<{ ok: true; key: VersionKey } | { ok: false; isOvertaken: boolean; cause: unknown }> {
  const { database, versions, records, clock, ids } = dependencies
  const { userId, manifest, files, buildId, also } = published
  const registered = buildId === null ? undefined : await records.ofBuild(buildId)
  if (registered) return { ok: true, key: registered }
  const before = await selectCapabilities(database.read)
    .where('user_id', '=', userId)
    .where('name', '=', manifest.name)
    .executeTakeFirst()
  const capabilityId = before?.id ?? ids.next()
  const key = { capabilityId, version: (await records.newest(capabilityId)) + 1 }
  const createdAt = clock.now()
  const { hash } = await versions.write({ ...key, files, createdAt })
  try {
    await database.write(async (writer) => {
      await writeServing(writer, { ...key, now: createdAt }, published)
      await records.insertIn(writer, { ...key, manifest, hash, buildId, createdAt })
      await also?.(writer, key)
    })
  } catch (cause) {
    // It may have been committed all the same: what a row names stays.
    const named = await records.find(key.capabilityId, key.version)
    if (named?.hash === hash) throw cause
    await versions.remove({ ...key, hash })
    // What overtook it may be of the same commit, and not to be seen yet.
    return { ok: false, isOvertaken: cause instanceof FamiliarError && cause.code === 'conflict', cause }
  }
  return { ok: true, key }
}

async function writeServing(
  writer: Writer,
  { capabilityId, version, now }: VersionKey & { now: number },
  published: Parameters<CapabilityCatalog['publish']>[0],
): Promise<void> {
  const { userId, manifest, origin, buildId, state, problem = null } = published
  const current = await selectCapabilities(writer).where('id', '=', capabilityId).executeTakeFirst()
  const serving = {
    ...manifestColumns(manifest),
    origin,
    version,
    state,
    problem,
    last_called_at: current?.last_called_at ?? null,
    // What failed, failed with the version before.
    last_error: null,
    failing_input: null,
    updated_at: now,
  }
  if (!current) {
    const row = { id: capabilityId, user_id: userId, name: manifest.name, created_at: now, ...serving }
    await writer.insertInto('capabilities').values(row).execute()
    return
  }
  // What the owner has switched off meanwhile stays off, whatever the build brings.
  const staysOff = buildId !== null && current.state === 'disabled'
  const changes = staysOff ? { ...serving, state: current.state, problem: current.problem } : serving
  await writer.updateTable('capabilities').set(changes).where('id', '=', capabilityId).execute()
}
