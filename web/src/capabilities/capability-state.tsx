import type { CapabilitySummaryReply } from '../../../src/protocol/capability-api.ts'
import { Badge, type BadgeKind } from '../components/badge.tsx'

type Stated = Pick<CapabilitySummaryReply, 'state' | 'version' | 'needs_approval' | 'calls' | 'failures'>

export function CapabilityState({ capability }: { capability: Stated }) {
  const { name, kind } = stateOf(capability)
  return <Badge kind={kind}>{name}</Badge>
}

function stateOf({ state, version, needs_approval, calls, failures }: Stated): { name: string; kind: BadgeKind } {
  if (needs_approval) return { name: 'Waits for your word', kind: 'warn' }
  switch (state) {
    case 'building':
      return { name: version === null ? 'Being built' : 'Ready, being mended', kind: 'busy' }
    case 'failed':
      return { name: 'Could not be built', kind: 'bad' }
    case 'disabled':
      return { name: 'Off', kind: 'plain' }
    case 'active':
      // One in five is more than a service that is down for a moment.
      return calls > 4 && failures * 5 > calls
        ? { name: 'Ready, often fails', kind: 'warn' }
        : { name: 'Ready', kind: 'good' }
  }
}

export const originNames: Record<CapabilitySummaryReply['origin'], string> = {
  built: 'Built by Familiar',
  written: 'Written by hand',
  imported: 'Imported',
}
