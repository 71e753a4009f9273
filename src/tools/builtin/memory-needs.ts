import type { Clock } from '../../base/clock.ts'
import type { FamiliarMemory } from '../../memory/familiar-memory.ts'

/** What the tools over memory need of it. */
export interface MemoryNeeds
  extends Pick<
    FamiliarMemory,
    'memories' | 'recall' | 'deepRecall' | 'facts' | 'aliases' | 'episodes' | 'commitments' | 'corrections' | 'files'
  > {
  clock: Clock
  /** The user's, as IANA names it: a memory carries the date that the user's calendar showed. */
  timeZone: string
}
