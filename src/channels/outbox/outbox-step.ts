/**
 * The steps of what goes out. The crash suite kills the process at each one; nothing else may depend on them.
 *
 * `item_sent` lies between the answer of the other side and its being written down.
 */
export const outboxStepNames = ['items_put_in', 'item_claimed', 'item_sent', 'outcome_written'] as const

export type OutboxStepName = (typeof outboxStepNames)[number]
export type OnOutboxStep = (step: OutboxStepName) => void
