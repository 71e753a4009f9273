import type { BuildReply } from '../../../../src/protocol/build-api.ts'
import { Badge, type BadgeKind } from '../../components/badge.tsx'

const states: Record<BuildReply['state'], { name: string; kind: BadgeKind }> = {
  running: { name: 'Running', kind: 'busy' },
  complete: { name: 'Done', kind: 'good' },
  failed: { name: 'Failed', kind: 'bad' },
  stopped: { name: 'Stopped', kind: 'plain' },
}

export function BuildState({ state }: Pick<BuildReply, 'state'>) {
  return <Badge kind={states[state].kind}>{states[state].name}</Badge>
}
