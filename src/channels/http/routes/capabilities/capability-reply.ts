import type {
  CapabilityReply,
  CapabilityRunReply,
  CapabilitySummaryReply,
  RegistrationReply,
} from '../../../../protocol/capability-api.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import type { Build } from '../../../../tools/capabilities/builds/builds.ts'
import { type Capabilities, needsApproval } from '../../../../tools/capabilities/capabilities.ts'
import {
  type Capability,
  type CapabilityVersion,
  secretOwnerOf,
  toolNameOf,
} from '../../../../tools/capabilities/capability.ts'
import type { CapabilityStatistics } from '../../../../tools/capabilities/catalog/catalog.ts'
import type { CapabilityRun } from '../../../../tools/capabilities/execute/executor.ts'
import type { Registration } from '../../../../tools/capabilities/gate/gate.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpContext } from '../../http-dependencies.ts'
import { isoTime } from '../../iso-time.ts'
import { buildReply } from './build-reply.ts'

/** The capability that the path names. Another user's is as unknown as one that never was (SEC-22). */
export function findCapability({ catalog }: Capabilities, context: HttpContext): Capability {
  const name = context.req.param('name') ?? ''
  const capability = catalog.find(callerOf(context).userId, name)
  if (!capability) throw new FamiliarError('not_found', `There is no capability named ${name.slice(0, 200)}.`)
  return capability
}

export function summaryReply(capability: Capability): CapabilitySummaryReply {
  const { name, description, state, origin, version, tags, problem, calls, failures } = capability
  return {
    name,
    description,
    state,
    origin,
    version,
    tags: [...tags],
    problem,
    needs_approval: needsApproval(capability),
    calls,
    failures,
    last_called_at: timeOrNull(capability.lastCalledAt),
    created_at: isoTime(capability.createdAt),
    updated_at: isoTime(capability.updatedAt),
  }
}

/** Everything that there is to know of one. */
export async function capabilityReply(
  { catalog, builds, vault }: Capabilities,
  capability: Capability,
): Promise<CapabilityReply> {
  const { userId, name } = capability
  const [versions, statistics, newest, secrets] = await Promise.all([
    catalog.versions(userId, name),
    catalog.statistics(userId, name),
    builds.list(userId, { name, limit: 1 }),
    vault.names(userId, secretOwnerOf(name)),
  ])
  return detailReply(capability, {
    versions,
    statistics,
    build: newest[0],
    secrets: new Set(secrets.map((secret) => secret.name)),
  })
}

function detailReply(
  capability: Capability,
  known: {
    versions: readonly CapabilityVersion[]
    statistics: CapabilityStatistics | undefined
    build: Build | undefined
    secrets: ReadonlySet<string>
  },
): CapabilityReply {
  const { hosts, secrets, storage } = capability.permissions
  const { versions, statistics, build } = known
  return {
    ...summaryReply(capability),
    tool: toolNameOf(capability.name),
    asked_as: [...(versions.find(({ version }) => version === capability.version)?.manifest.askedAs ?? [])],
    input_schema: capability.inputSchema,
    permissions: {
      hosts: [...hosts],
      secrets: secrets.map(({ name, description }) => ({ name, description, is_set: known.secrets.has(name) })),
      storage,
    },
    versions: versions.map(({ version, manifest, hash, buildId, createdAt }) => {
      return { version, runtime: manifest.runtime, hash, build_id: buildId, created_at: isoTime(createdAt) }
    }),
    statistics: {
      calls: statistics?.calls ?? 0,
      failures: statistics?.failures ?? 0,
      median_ms: statistics?.medianMs ?? null,
      last_called_at: timeOrNull(statistics?.lastCalledAt ?? null),
      last_error: statistics?.lastError ?? null,
    },
    build: build ? buildReply(build) : null,
  }
}

export function runReply(run: CapabilityRun): CapabilityRunReply {
  const { ok, value, text, card, error, outcome, log, driver } = run
  const duration_ms = Math.round(run.durationMs)
  return { ok, value, text, card, error, outcome, log, refused_hosts: [...run.refusedHosts], duration_ms, driver }
}

export function registrationReply(registration: Registration): RegistrationReply {
  const examples = registration.examples.map(({ input, ok, detail }) => ({ input, ok, detail }))
  if (!registration.ok) {
    return { ok: false, name: null, version: null, examples, problems: [...registration.problems] }
  }
  return { ok: true, name: registration.capability.name, version: registration.version, examples, problems: [] }
}

function timeOrNull(time: number | null): string | null {
  return time === null ? null : isoTime(time)
}
