import type { OutboxItemReply } from '../../../../src/protocol/outbox-api.ts'
import type { BadgeKind } from '../../components/badge.tsx'

export type OutboxState = OutboxItemReply['state']

interface StateWords {
  state: OutboxState
  label: string
  kind: BadgeKind
}

/** In the order in which they call for somebody. */
export const outboxStates: readonly StateWords[] = [
  { state: 'failed', label: 'Failed', kind: 'bad' },
  { state: 'unknown', label: 'May have arrived', kind: 'warn' },
  { state: 'pending', label: 'Waiting', kind: 'plain' },
  { state: 'sending', label: 'Being sent', kind: 'busy' },
  { state: 'sent', label: 'Sent', kind: 'good' },
  { state: 'cancelled', label: 'Not to be sent', kind: 'plain' },
]

export const canRetry = (state: OutboxState) => state === 'failed' || state === 'unknown' || state === 'pending'
export const canCancel = (state: OutboxState) => state === 'pending'
