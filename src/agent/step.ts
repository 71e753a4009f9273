/**
 * The durable steps of a message, in the order in which it passes them. The crash suite kills the process at each one;
 * nothing else may depend on them.
 */
export const stepNames = [
  'inbox_committed',
  'turn_starting',
  'turn_started',
  'call_reserved',
  'response_streaming',
  'response_received',
  'response_recorded',
  'tool_starting',
  'tool_ran',
  'tool_recorded',
  'turn_ended',
  'summary_received',
  'compaction_recorded',
  'snapshot_saved',
] as const

export type StepName = (typeof stepNames)[number]
export type OnStep = (step: StepName) => void
