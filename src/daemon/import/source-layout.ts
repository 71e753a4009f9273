import { join } from 'node:path'
import type { LeftOut } from './import-plan.ts'

/** A text, and where in the workspace it belongs. */
export interface SourceText {
  from: string
  to: string
}

/** What of a folder is what, by the habits of the agent that wrote it. */
export interface SourceLayout {
  texts: SourceText[]
  /** Folders of folders with a SKILL.md. */
  skillRoots: string[]
  leftOut: LeftOut[]
}

/** A reason for each name that is known and not brought in; a general one for the others. */
export function leftOutOf(path: string, name: string, reasons: Readonly<Record<string, string>>): LeftOut {
  const reason = Object.hasOwn(reasons, name) ? reasons[name] : undefined
  return { path: join(path, name), reason: reason ?? (isSecretName(name) ? secretReason : 'nothing here reads it') }
}

export const secretReason = 'it may hold keys; `familiar setup` asks for those that are needed'

/** By its name alone. */
export function isSecretName(name: string): boolean {
  return /^(\.env.*|auth.*|credentials?.*|secrets?.*|.*\.(key|pem|p12|pfx)|id_(rsa|ed25519|ecdsa).*)$/i.test(name)
}
