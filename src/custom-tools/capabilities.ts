import type { Clock } from '../base/clock.ts'
import { readBundledText } from '../base/files.ts'
import { estimateTokens } from '../base/tokens.ts'
import type { VersionDifference } from '../protocol/custom-tools.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { Seen } from '../security/permissions.ts'
import type { Vault } from '../security/vault.ts'
import type { ToolAudit } from '../tools/registry.ts'
import type { ToolContext } from '../tools/tool.ts'
import type { Build } from './builder/builds.ts'
import type { Builds } from './builder/create-builds.ts'
import { type Capability, type CapabilityCatalog, serves, toolNameOf } from './built-catalog.ts'
import type { CapabilityRuns } from './custom-tool.ts'
import { diffFiles } from './diff-files.ts'
import type { CapabilitySearch } from './search.ts'
import type { CapabilityFolders } from './share.ts'
import type { CapabilityVersion } from './versions.ts'

export type Capabilities = ReturnType<typeof createCapabilities>

/** Whether only the command line of this machine may let it run: it came from elsewhere and is off (CAP-9). */
export function needsApproval({ origin, state }: Pick<Capability, 'origin' | 'state'>): boolean {
  return origin === 'imported' && state === 'disabled'
}

export type RepairMode = 'off' | 'ask' | 'auto'

/** The note after a failed call, and the tools that are offered then. */
export type AfterFailure = (
  capability: Capability,
  context: ToolContext,
) => Promise<{ note: string; foundTools: string[] } | undefined>

/** With `ask` the model learns that a repair is possible; with `auto` the repair has already started. */
export function createAfterFailure(dependencies: {
  repairs: CapabilityRepairs
  mode(): RepairMode
  whyNot(): Promise<string | undefined>
}): AfterFailure {
  const { repairs, mode, whyNot } = dependencies
  const offer = { note: 'repair_capability repairs it.', foundTools: ['repair_capability'] }

  async function begin({ name }: Capability, { userId, sessionId, callId, seen }: ToolContext) {
    if (await repairs.failedLately(userId, name)) return offer
    try {
      const build = await repairs.request({ userId, name, sessionId, callId, seen })
      const note = `A repair has started (build ${build.id}). ${name} stays as it is until the repair passes its checks.`
      return { note, foundTools: [] }
    } catch (cause) {
      if (!(cause instanceof FamiliarError)) throw cause
      return { note: `It was not repaired: ${cause.message}`, foundTools: [] }
    }
  }

  return async (capability, context) => {
    if (mode() === 'off' || (await whyNot()) !== undefined) return undefined
    return mode() === 'auto' ? await begin(capability, context) : offer
  }
}

export const builderPrompt = readBundledText(new URL('builder/builder.md', import.meta.url))

const heading = 'Tools you have built; lookup_capability makes them callable:'
const maxLineLength = 90

/**
 * The most useful ones in a line each, as many as fit, and how many more there are (CAP-6). The same capabilities give the
 * same bytes. Undefined where there is none.
 */
export function capabilityLines(capabilities: readonly Capability[], budgetTokens = 160): string | undefined {
  const serving = capabilities.filter(serves).sort(byUse)
  if (serving.length === 0) return undefined
  const lines: string[] = []
  const textOf = (shown: readonly string[]) => {
    const more = serving.length - shown.length
    const tail = more === 0 ? [] : [`- and ${more} more: lookup_capability finds them.`]
    return [heading, ...shown, ...tail].join('\n')
  }
  for (const capability of serving) {
    const line = lineOf(capability)
    if (estimateTokens(textOf([...lines, line])) > budgetTokens) break
    lines.push(line)
  }
  return textOf(lines)
}

/**
 * The lines for the prompt of each user. They change only when a capability is added, removed or described differently,
 * not with calls or builds.
 */
export function createCapabilityPrompt(catalog: Pick<CapabilityCatalog, 'list' | 'onChange'>) {
  const written = new Map<string, { served: string; text: string | undefined }>()
  const changed = new Set<string>()
  const unfollow = catalog.onChange((userId) => void changed.add(userId))
  return {
    lines(userId: string): string | undefined {
      const before = written.get(userId)
      if (before && !changed.has(userId)) return before.text
      changed.delete(userId)
      const serving = catalog.list(userId).filter(serves)
      const served = serving.map(({ name, description }) => `${name} ${description}`).join('\n')
      if (before?.served === served) return before.text
      const text = capabilityLines(serving)
      written.set(userId, { served, text })
      return text
    },
    close: unfollow,
  }
}

/** Most successful calls first, then newest. */
function byUse(a: Capability, b: Capability): number {
  const served = b.calls - b.failures - (a.calls - a.failures)
  return served || b.createdAt - a.createdAt || (a.name < b.name ? -1 : 1)
}

function lineOf({ name, description }: Capability): string {
  const line = `- ${toolNameOf(name)}: ${description.replaceAll(/\s+/g, ' ')}`
  return line.length > maxLineLength ? `${line.slice(0, maxLineLength - 1).toWellFormed()}…` : line
}

interface DifferenceRequest {
  userId: string
  name: string
  from?: number | undefined
  to?: number | undefined
}

/** The difference between two versions: by default the active one and the one before it. */
export async function versionDifference(
  request: DifferenceRequest,
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
  const files = await diffFiles(await sideOf(from, catalog), await sideOf(to, catalog))
  return { from: from.version, to: to.version, files }
}

async function sideOf(version: CapabilityVersion, catalog: Pick<CapabilityCatalog, 'read'>) {
  const reading = await catalog.read(version)
  if (!reading.ok) throw new FamiliarError('conflict', reading.problem)
  return { label: `v${version.version}`, files: reading.files }
}

/** Everything that the ways in can ask of capabilities. Each takes the user, and knows nothing of another's (SEC-22). */
export function createCapabilities(parts: {
  catalog: CapabilityCatalog
  search: Pick<CapabilitySearch, 'search'>
  builds: Builds
  runs: CapabilityRuns
  folders: CapabilityFolders
  repairs: Pick<CapabilityRepairs, 'request'>
  audit: Pick<ToolAudit, 'list'>
  vault: Pick<Vault, 'set' | 'names'>
  /** Why nothing can be built here; undefined where it can. */
  whyNot(): Promise<string | undefined>
}) {
  const { repairs, whyNot, ...rest } = parts
  const { catalog } = rest
  return {
    ...rest,
    difference: (request: DifferenceRequest) => versionDifference(request, { catalog }),
    /** A build that repairs it, with the last failure as an example (CAP-8). */
    async repair({ userId, name, problem }: { userId: string; name: string; problem?: string | undefined }) {
      const missing = await whyNot()
      if (missing !== undefined) throw new FamiliarError('unavailable', `Nothing can be repaired now: ${missing}`)
      const seen = seenIn(catalog.find(userId, name))
      return repairs.request({ userId, name, problem, seen })
    },
  }
}

/** Its inputs may be private, and its error may contain untrusted text (SEC-17). */
function seenIn(capability: Capability | undefined): Seen {
  if (!capability) return { untrusted: false, private: false }
  const { origin, failures, permissions } = capability
  const hasFailed = failures > 0
  return { untrusted: origin === 'imported' || (hasFailed && permissions.hosts.length > 0), private: hasFailed }
}

const dayMs = 24 * 60 * 60_000
const maxProblemLength = 2_000

export type CapabilityRepairs = ReturnType<typeof createCapabilityRepairs>

/** Builds that repair a failing capability. The active version serves until the new one has passed (CAP-8). */
export function createCapabilityRepairs(dependencies: {
  catalog: CapabilityCatalog
  builds: Pick<Builds, 'request' | 'list'>
  clock: Clock
}) {
  const { catalog, builds, clock } = dependencies
  return {
    /** With what failed last as an example. `not_found`, `conflict` where it is built or switched off already. */
    async request(wanted: {
      userId: string
      name: string
      problem?: string | undefined
      sessionId?: string
      callId?: string
      seen: Seen
    }): Promise<Build> {
      const { userId, name, problem = '', sessionId = null, callId = null, seen } = wanted
      const capability = catalog.find(userId, name)
      if (!capability) throw new FamiliarError('not_found', `There is no capability named ${name}.`)
      if (capability.version === null) {
        throw new FamiliarError('conflict', `${name} has no version that could be repaired: request it again.`)
      }
      const failure = (await catalog.lastFailure(userId, name)) ?? null
      // An input that was too large to keep leaves its error.
      const said = problem || (failure === null ? (capability.lastError ?? '') : '')
      if (said === '' && failure === null) {
        throw new FamiliarError('conflict', `No call of ${name} has failed. Say what is wrong with it.`)
      }
      const wrong = said === '' ? '' : `\n\nWhat is wrong: ${said.slice(0, maxProblemLength).toWellFormed()}`
      const { description, inputSchema } = capability
      const request = { description: `${description}${wrong}`, inputSchema, failure, seen }
      return await builds.request({ userId, name, kind: 'repair', request, sessionId, callId })
    },
    /** Whether the newest attempt is young and did not help: another one by itself would cost as much and help as little. */
    async failedLately(userId: string, name: string): Promise<boolean> {
      const [newest] = await builds.list(userId, { name, limit: 1 })
      return newest?.kind === 'repair' && newest.state !== 'complete' && clock.now() - newest.createdAt < dayMs
    },
  }
}
