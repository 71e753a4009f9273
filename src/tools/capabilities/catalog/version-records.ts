import type { CapabilityVersionRow } from '../../../storage/capability-tables.ts'
import type { Database, Writer } from '../../../storage/database.ts'
import type { CapabilityManifest, CapabilityVersion } from '../capability.ts'
import type { RegisteredVersion, VersionKey, VersionStore } from '../versions/version-store.ts'
import { readManifestColumn } from './capability-record.ts'

/** The rows of versions. */
export interface VersionRecords {
  find(capabilityId: string, version: number): Promise<CapabilityVersion | undefined>
  /** Those of these that there are, by the ids of their capabilities: one question for all of them. */
  findAll(keys: readonly VersionKey[]): Promise<ReadonlyMap<string, CapabilityVersion>>
  /** Oldest first. */
  list(capabilityId: string): Promise<CapabilityVersion[]>
  /** What a build has registered. */
  ofBuild(buildId: string): Promise<VersionKey | undefined>
  /** Zero where there is none. */
  newest(capabilityId: string): Promise<number>
  before(capabilityId: string, version: number): Promise<number | undefined>
  /** All that there are, of all capabilities. */
  known(): Promise<RegisteredVersion[]>
  insertIn(writer: Writer, version: Omit<CapabilityVersion, 'directory'>): Promise<void>
}

export function createVersionRecords({
  database,
  versions,
}: {
  database: Database
  versions: Pick<VersionStore, 'directoryOf'>
}): VersionRecords {
  const select = () => database.read.selectFrom('capability_versions')

  function toVersion(row: CapabilityVersionRow): CapabilityVersion {
    const { capability_id: capabilityId, hash, build_id: buildId } = row
    const version = Number(row.version)
    const directory = versions.directoryOf({ capabilityId, version })
    const manifest: CapabilityManifest = readManifestColumn(row.manifest)
    return { capabilityId, version, manifest, directory, hash, buildId, createdAt: Number(row.created_at) }
  }

  return {
    async find(capabilityId, version) {
      const row = await select()
        .selectAll()
        .where('capability_id', '=', capabilityId)
        .where('version', '=', version)
        .executeTakeFirst()
      return row && toVersion(row)
    },
    async findAll(keys) {
      if (keys.length === 0) return new Map()
      const rows = await select()
        .selectAll()
        .where(({ and, or }) =>
          or(keys.map(({ capabilityId, version }) => and({ capability_id: capabilityId, version }))),
        )
        .execute()
      return new Map(rows.map((row) => [row.capability_id, toVersion(row)]))
    },
    async list(capabilityId) {
      const rows = await select().selectAll().where('capability_id', '=', capabilityId).orderBy('version').execute()
      return rows.map(toVersion)
    },
    async ofBuild(buildId) {
      const row = await select().select(['capability_id', 'version']).where('build_id', '=', buildId).executeTakeFirst()
      return row && { capabilityId: row.capability_id, version: Number(row.version) }
    },
    async newest(capabilityId) {
      const row = await select()
        .select('version')
        .where('capability_id', '=', capabilityId)
        .orderBy('version', 'desc')
        .executeTakeFirst()
      return Number(row?.version ?? 0)
    },
    async before(capabilityId, version) {
      const row = await select()
        .select('version')
        .where('capability_id', '=', capabilityId)
        .where('version', '<', version)
        .orderBy('version', 'desc')
        .executeTakeFirst()
      return row && Number(row.version)
    },
    async known() {
      const rows = await select().select(['capability_id', 'version', 'hash']).execute()
      return rows.map(({ capability_id, version, hash }) => ({
        capabilityId: capability_id,
        version: Number(version),
        hash,
      }))
    },
    async insertIn(writer, { capabilityId, version, manifest, hash, buildId, createdAt }) {
      await writer
        .insertInto('capability_versions')
        .values({
          capability_id: capabilityId,
          version,
          manifest: JSON.stringify(manifest),
          hash,
          build_id: buildId,
          created_at: createdAt,
        })
        .execute()
    },
  }
}
