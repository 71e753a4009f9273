import { judgeCall, type Seen } from '../../../policy/gate.ts'
import type { BuilderDesk } from '../builds/builder-desk.ts'
import type { Build } from '../builds/builds.ts'
import type { CapabilityManifest } from '../capability.ts'

/** The first host that this build may not reach, with the reason; undefined where it may reach them all. */
export type HostPermission = (wanted: {
  build: Build
  manifest: Pick<CapabilityManifest, 'hosts' | 'secrets'>
  seen: Seen
  signal: AbortSignal
}) => Promise<string | undefined>

/**
 * The policy of SEC-6 for code that a model has written: with words of others in sight they may have chosen the host, and
 * with something private in sight, or a secret at hand, the code may carry it there. Then the user is asked, once for each
 * host of a build. The loop's own gate does not serve here: its question would end the turn, and with it the build.
 */
export function createHostPermission(dependencies: {
  desk: Pick<BuilderDesk, 'allowsHost'>
  /** Those that the owner has declared. */
  destinations(): readonly string[]
}): HostPermission {
  const { desk, destinations } = dependencies
  return async ({ build, manifest, seen, signal }) => {
    const inSight = {
      untrusted: build.request.seen.untrusted || seen.untrusted,
      private: build.request.seen.private || seen.private || manifest.secrets.length > 0,
    }
    for (const host of manifest.hosts) {
      const reach = { kind: 'acts', destination: `https://${host}` } as const
      const { allowed } = judgeCall({ seen: inSight, reach, destinations: destinations() })
      if (allowed) continue
      const question = `Building ${build.name} wants to reach ${host}. It has text of others in sight, and something that is yours or a secret. Allow it? yes or no`
      if (await desk.allowsHost({ build, host, question, seen, signal })) continue
      return `The user did not allow this build to reach ${host}, so nothing was run. Go on without it, or stop and say so.`
    }
    return undefined
  }
}
