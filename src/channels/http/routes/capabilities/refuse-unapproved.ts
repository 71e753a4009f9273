import { localTokenId } from '../../../../policy/access-tokens.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import { needsApproval } from '../../../../tools/capabilities/capabilities.ts'
import type { Capability } from '../../../../tools/capabilities/capability.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpContext } from '../../http-dependencies.ts'

/** What was imported is let run on the machine itself, by whoever has seen its permissions there (CAP-9, SEC-4). */
export function refuseUnapproved(capability: Capability): void {
  if (!needsApproval(capability)) return
  const { name } = capability
  throw new FamiliarError(
    'conflict',
    `${name} was imported and its permissions are not approved. On the machine itself: familiar caps enable ${name}`,
  )
}

/** Of what was imported, the version that serves is the one that was approved; the others may never have been. */
export function refuseOtherVersion(context: HttpContext, capability: Capability, version: number | undefined): void {
  const { name, origin, version: serving } = capability
  if (origin !== 'imported' || version === serving || callerOf(context).tokenId === localTokenId) return
  throw new FamiliarError(
    'conflict',
    `${name} was imported: its other versions are tried and chosen on the machine itself, with familiar caps.`,
  )
}
