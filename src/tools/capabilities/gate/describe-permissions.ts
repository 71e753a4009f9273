import type { CapabilityPermissions } from '../capability.ts'

/** What a capability may do, in a sentence each. */
export function describePermissions({ hosts, secrets, storage }: CapabilityPermissions): string[] {
  const names = secrets.map(({ name, description }) => (description === '' ? name : `${name} (${description})`))
  return [
    hosts.length > 0 ? `It reaches ${hosts.join(', ')}.` : 'It reaches no network.',
    names.length > 0 ? `It is given the secrets ${names.join(', ')}.` : 'It is given no secret.',
    storage ? 'It keeps data between calls.' : 'It keeps nothing between calls.',
  ]
}
