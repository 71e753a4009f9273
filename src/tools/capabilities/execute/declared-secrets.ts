import { FamiliarError } from '../../../protocol/error.ts'
import type { Vault } from '../../../secrets/vault.ts'
import { secretOwnerOf } from '../capability.ts'
import type { Runnable } from './executor.ts'

export type DeclaredSecrets = { ok: true; values: Record<string, string> } | { ok: false; problem: string }

/** The values of what a capability declares, and of nothing else. All that are missing are named at once. */
export async function readDeclaredSecrets(
  { name, manifest }: Runnable,
  { userId, vault }: { userId: string; vault: Pick<Vault, 'get'> },
): Promise<DeclaredSecrets> {
  const entries: [string, string][] = []
  const missing: string[] = []
  try {
    for (const secret of manifest.secrets) {
      const value = await vault.get({ userId, owner: secretOwnerOf(name), name: secret.name })
      if (value === undefined) missing.push(secret.name)
      else entries.push([secret.name, value])
    }
  } catch (cause) {
    if (cause instanceof FamiliarError) return { ok: false, problem: cause.message }
    throw cause
  }
  if (missing.length === 0) return { ok: true, values: Object.fromEntries(entries) }
  const commands = missing.map((key) => `familiar caps secret ${name} ${key}`).join(', ')
  const [which, them] = missing.length === 1 ? ['secret', 'it'] : ['secrets', 'them']
  const problem = `${name} needs the ${which} ${missing.join(', ')}, which nobody has set yet. To set ${them}: ${commands}`
  return { ok: false, problem }
}
