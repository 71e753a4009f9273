/**
 * The durable steps of a delivery, in their order. The crash suite kills the process at each one; nothing else may
 * depend on them.
 */
export const scheduleStepNames = ['run_written', 'message_submitted', 'run_closed'] as const

type ScheduleStepName = (typeof scheduleStepNames)[number]
export type OnScheduleStep = (step: ScheduleStepName) => void
