import { FamiliarError } from '../../../protocol/error.ts'
import type { CapabilityFolders } from '../capabilities.ts'
import type { CapabilityVersion } from '../capability.ts'
import type { CapabilityCatalog } from '../catalog/catalog.ts'
import { completeFiles } from '../gate/complete-files.ts'
import { describePermissions } from '../gate/describe-permissions.ts'
import type { CapabilityGate, Registration } from '../gate/gate.ts'
import { whyTaken } from '../gate/why-taken.ts'
import { exportFolder } from './export-folder.ts'
import { readCapabilityFolder } from './read-capability-folder.ts'

/** Capabilities as folders of this machine: written by hand, taken in from elsewhere, given to others (CAP-9). */
export function createCapabilityFolders(dependencies: {
  catalog: Pick<CapabilityCatalog, 'find' | 'version' | 'read' | 'publish' | 'setEnabled'>
  gate: CapabilityGate
}): CapabilityFolders {
  const { catalog, gate } = dependencies

  async function needVersion(userId: string, name: string): Promise<CapabilityVersion> {
    const version = await catalog.version(userId, name)
    if (version) return version
    const isThere = catalog.find(userId, name) !== undefined
    throw new FamiliarError('not_found', isThere ? `${name} has no version yet.` : `There is no capability ${name}.`)
  }

  return {
    async register(userId, directory, options) {
      const reading = await readCapabilityFolder(directory)
      if (!reading.ok) return refused([reading.problem])
      return await gate.register(reading.files, { userId, origin: 'written', ...options })
    },

    async importFrom(userId, directory, signal) {
      const reading = await readCapabilityFolder(directory)
      if (!reading.ok) return refused([reading.problem])
      const verdict = await gate.inspect(reading.files, signal)
      if (!verdict.ok) return verdict
      const { manifest } = verdict
      const existing = catalog.find(userId, manifest.name)
      const taken = whyTaken(manifest.name, { wanted: undefined, origin: 'imported', existing })
      if (taken !== undefined) return refused([taken])
      const published = await catalog.publish({
        userId,
        manifest,
        files: completeFiles(reading.files, { manifest, firstAt: existing?.createdAt }),
        origin: 'imported',
        buildId: null,
        state: 'disabled',
        problem: `It was imported and is off until you approve what it may do. ${describePermissions(manifest).join(' ')}`,
      })
      return { ok: true, ...published, examples: [] }
    },

    async approve(userId, name, options) {
      const version = await needVersion(userId, name)
      const reading = await catalog.read(version)
      if (!reading.ok) return refused([reading.problem])
      const verdict = await gate.check(reading.files, { userId, ...options })
      if (!verdict.ok) return verdict
      // What was looked at is what begins to serve, or nothing does.
      if (catalog.find(userId, name)?.version !== version.version) {
        return refused([`${name} got another version meanwhile. Look at what that one may do, and try again.`])
      }
      const capability = await catalog.setEnabled(userId, name, true)
      return { ok: true, capability, version: version.version, examples: verdict.examples }
    },

    async exportTo(userId, name, directory) {
      const version = await needVersion(userId, name)
      const reading = await catalog.read(version)
      if (!reading.ok) throw new FamiliarError('conflict', reading.problem)
      return await exportFolder({
        directory,
        manifest: version.manifest,
        version: version.version,
        files: reading.files,
      })
    },
  }
}

function refused(problems: string[]): Registration {
  return { ok: false, problems, examples: [] }
}
