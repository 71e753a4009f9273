import type { Logger } from '../../base/logger.ts'
import type { Database } from '../../storage/database.ts'
import { leaveOutForgotten } from './forgotten.ts'
import { evidenceOf } from './grounding.ts'
import { leaveOutKnown } from './known-already.ts'
import { knownNames } from './known-names.ts'
import type { Learned } from './learned.ts'
import { siftLearned } from './sift-learned.ts'
import type { LearningStores } from './write-learned.ts'

/** What of a model's answer is borne out by what was said, not known yet, and not forgotten since. */
export async function siftAnswer(
  dependencies: LearningStores & { database: Database; logger: Logger; agentName?: () => string },
  from: { userId: string; said: readonly string[]; saidAt: number },
  learned: Learned,
): Promise<Learned> {
  const { database, logger } = dependencies
  const { userId, said, saidAt } = from
  const agentName = dependencies.agentName?.()
  const { kept, dropped } = siftLearned(learned, {
    evidence: evidenceOf(said),
    knownNames: await knownNames(dependencies, userId, learned),
    ...(agentName !== undefined && { agentName }),
  })
  if (dropped > 0) logger.debug('learning dropped what the user did not say', { dropped })
  return leaveOutKnown(dependencies, userId, await leaveOutForgotten(database, { userId, saidAt }, kept))
}
