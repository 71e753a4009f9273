import { FamiliarError } from '../../protocol/error.ts'
import type { Capabilities } from './capabilities.ts'
import type { Capability } from './capability.ts'
import type { CapabilityRepairs } from './repair-capability.ts'
import { versionDifference } from './versions/version-difference.ts'

/** Puts together what the ways in ask for. */
export function createCapabilities(
  parts: Omit<Capabilities, 'repair' | 'difference'> & {
    repairs: Pick<CapabilityRepairs, 'request'>
    /** Why nothing can be built here; undefined where it can. */
    whyNot(): Promise<string | undefined>
  },
): Capabilities {
  const { repairs, whyNot, ...rest } = parts
  const { catalog } = rest
  return {
    ...rest,
    difference: (request) => versionDifference(request, { catalog }),
    async repair({ userId, name, problem }) {
      const missing = await whyNot()
      if (missing !== undefined) throw new FamiliarError('unavailable', `Nothing can be mended now: ${missing}`)
      const seen = seenIn(catalog.find(userId, name))
      return repairs.request({ userId, name, problem, seen })
    },
  }
}

/** What it was called with may be private, and what it said of its failure may be the words of others (SEC-17). */
function seenIn(capability: Capability | undefined): { untrusted: boolean; private: boolean } {
  if (!capability) return { untrusted: false, private: false }
  const { origin, failures, permissions } = capability
  const hasFailed = failures > 0
  return { untrusted: origin === 'imported' || (hasFailed && permissions.hosts.length > 0), private: hasFailed }
}
