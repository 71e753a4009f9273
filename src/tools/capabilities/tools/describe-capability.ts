import type { Capability } from '../capability.ts'

/** One line of JSON for a model: what it needs to call it, and nothing that says nothing. */
export function describeCapability(capability: Capability): string {
  const { name, description, state, version, problem, permissions } = capability
  const { hosts, secrets, storage } = permissions
  return JSON.stringify({
    name,
    description,
    state: state === 'building' && version !== null ? 'active, a new version is being built' : state,
    ...(problem !== null && { problem }),
    input: capability.inputSchema,
    ...(hosts.length > 0 && { hosts }),
    ...(secrets.length > 0 && { secrets: secrets.map((secret) => secret.name) }),
    ...(storage && { storage }),
  })
}
