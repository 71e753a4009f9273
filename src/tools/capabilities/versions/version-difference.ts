import { FamiliarError } from '../../../protocol/error.ts'
import type { VersionDifference } from '../capabilities.ts'
import type { CapabilityVersion } from '../capability.ts'
import type { CapabilityCatalog } from '../catalog/catalog.ts'
import { diffFiles } from './diff-files.ts'

/** What differs between two versions: by default the one that serves, and the one before it. */
export async function versionDifference(
  request: { userId: string; name: string; from?: number | undefined; to?: number | undefined },
  { catalog }: { catalog: Pick<CapabilityCatalog, 'find' | 'versions' | 'read'> },
): Promise<VersionDifference> {
  const { userId, name } = request
  const capability = catalog.find(userId, name)
  if (!capability) throw new FamiliarError('not_found', `There is no capability ${name}.`)
  const versions = await catalog.versions(userId, name)
  const to = versions.find(({ version }) => version === (request.to ?? capability.version))
  const before = request.from ?? versions.findLast(({ version }) => version < (to?.version ?? 0))?.version
  const from = versions.find(({ version }) => version === before)
  if (!to) throw new FamiliarError('not_found', `${name} has no version ${request.to ?? 'yet'}.`)
  if (!from) {
    const which = before === undefined ? `before ${to.version}` : String(before)
    throw new FamiliarError('not_found', `${name} has no version ${which}.`)
  }
  return {
    from: from.version,
    to: to.version,
    files: diffFiles(await sideOf(from, catalog), await sideOf(to, catalog)),
  }
}

async function sideOf(version: CapabilityVersion, catalog: Pick<CapabilityCatalog, 'read'>) {
  const reading = await catalog.read(version)
  if (!reading.ok) throw new FamiliarError('conflict', reading.problem)
  return { label: `v${version.version}`, files: reading.files }
}
