import type { Clock } from '../../base/clock.ts'
import type { Seen } from '../../policy/gate.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { Build, Builds } from './builds/builds.ts'
import type { CapabilityCatalog } from './catalog/catalog.ts'

/** Builds that mend what fails in use; the version that serves goes on until the new one has passed (CAP-8). */
export interface CapabilityRepairs {
  /** With what failed last as an example. `not_found`, `conflict` where it is built or switched off already. */
  request(wanted: {
    userId: string
    name: string
    /** What is wrong with it, in somebody's words. */
    problem?: string | undefined
    sessionId?: string | null
    callId?: string | null
    seen: Seen
  }): Promise<Build>
  /** Whether the newest attempt is young and did not help: another one by itself would cost as much and help as little. */
  wasTriedInVain(userId: string, name: string): Promise<boolean>
}

const dayMs = 24 * 60 * 60_000
const longestProblem = 2_000

export function createCapabilityRepairs(dependencies: {
  catalog: CapabilityCatalog
  builds: Pick<Builds, 'request' | 'list'>
  clock: Clock
}): CapabilityRepairs {
  const { catalog, builds, clock } = dependencies
  return {
    async request({ userId, name, problem = '', sessionId = null, callId = null, seen }) {
      const capability = catalog.find(userId, name)
      if (!capability) throw new FamiliarError('not_found', `There is no capability named ${name}.`)
      if (capability.version === null) {
        throw new FamiliarError('conflict', `${name} has no version that could be repaired: request it again.`)
      }
      const failure = (await catalog.lastFailure(userId, name)) ?? null
      // An input that was too large to keep leaves its error.
      const told = problem || (failure === null ? (capability.lastError ?? '') : '')
      if (told === '' && failure === null) {
        throw new FamiliarError('conflict', `No call of ${name} has failed. Say what is wrong with it.`)
      }
      const wrong = told === '' ? '' : `\n\nWhat is wrong: ${told.slice(0, longestProblem).toWellFormed()}`
      const { description, inputSchema } = capability
      const request = { description: `${description}${wrong}`, inputSchema, failure, seen }
      return await builds.request({ userId, name, kind: 'repair', request, sessionId, callId })
    },
    async wasTriedInVain(userId, name) {
      const [newest] = await builds.list(userId, { name, limit: 1 })
      return newest?.kind === 'repair' && newest.state !== 'complete' && clock.now() - newest.createdAt < dayMs
    },
  }
}
