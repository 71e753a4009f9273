import type { Aliases } from './aliases.ts'
import type { Commitments } from './commitments.ts'
import type { Corrections } from './corrections.ts'
import type { DecayState } from './decay.ts'
import type { EmbeddingStatus } from './embedding/embed-memories.ts'
import type { Episodes } from './episodes.ts'
import type { Facts } from './facts.ts'
import type { FileIndex } from './files/index-files.ts'
import type { MemoryGraph } from './graph.ts'
import type { DeepRecall } from './learning/deep-recall.ts'
import type { Memories } from './memories.ts'
import type { Recall } from './recall/recall.ts'

/** All that can be asked of memory, for the tools and the ways in. */
export interface FamiliarMemory {
  memories: Memories
  facts: Facts
  aliases: Aliases
  episodes: Episodes
  commitments: Commitments
  graph: MemoryGraph
  corrections: Corrections
  files: FileIndex
  recall: Recall
  deepRecall: DeepRecall
  /** What memories fade by at this moment. */
  decayState(userId: string): Promise<DecayState>
  /** How far the embedding has come; undefined where there is none, and recall goes by words. */
  embeddingStatus(userId: string): Promise<EmbeddingStatus | undefined>
}
