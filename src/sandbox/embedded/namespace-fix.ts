import { readFileSync } from 'node:fs'

/** Ways in which a system keeps its users from making namespaces, and what allows it again. */
const settings: readonly (readonly [name: string, closed: string, open: string])[] = [
  ['kernel.unprivileged_userns_clone', '0', '1'],
  ['kernel.apparmor_restrict_unprivileged_userns', '1', '0'],
  ['user.max_user_namespaces', '0', '15000'],
]

/** The command that would let bubblewrap work, where the reason can be told. */
export function namespaceFix(read: (name: string) => string | undefined = readSetting): string | null {
  const found = settings.find(([name, closed]) => read(name) === closed)
  return found ? `sudo sysctl -w ${found[0]}=${found[2]}` : null
}

function readSetting(name: string): string | undefined {
  try {
    return readFileSync(`/proc/sys/${name.replaceAll('.', '/')}`, 'utf8').trim()
  } catch {
    return undefined
  }
}
