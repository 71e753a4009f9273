import type { ScheduleRunReply } from '../../../src/protocol/schedule-api.ts'
import { Badge, type BadgeKind } from '../components/badge.tsx'

const kinds: Record<ScheduleRunReply['state'], [kind: BadgeKind, words: string]> = {
  begun: ['busy', 'on its way'],
  delivered: ['good', 'sent'],
  late: ['warn', 'sent late'],
  missed: ['warn', 'missed'],
  failed: ['bad', 'failed'],
}

export function RunState({ state }: { state: ScheduleRunReply['state'] }) {
  const [kind, words] = kinds[state]
  return <Badge kind={kind}>{words}</Badge>
}
