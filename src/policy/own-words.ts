import type { Label } from '../protocol/label.ts'

/** Sources that nobody speaks through: programs, schedules, and what Familiar tells itself. */
const automated: Readonly<Record<string, Label>> = {
  system: 'internal',
  approval: 'internal',
  builder: 'internal',
  subagent: 'internal',
  schedule: 'internal',
  cron: 'untrusted',
  webhook: 'untrusted',
}

/** The source of the messages that tell an agent how the user has answered elsewhere. */
export const approvalSource = 'approval'

export function isAutomated(source: string): boolean {
  return Object.hasOwn(automated, source)
}

/** Whether the user themself said it: only then is it their word for anything. */
export function isOwnWords(message: { source: string; label?: Label | undefined }): boolean {
  return !isAutomated(message.source) && (message.label ?? 'owner') === 'owner'
}

/** Whose words a message is where its channel says nothing; undefined for the owner's own. */
export function usualLabel(source: string): Label | undefined {
  return isAutomated(source) ? automated[source] : undefined
}
