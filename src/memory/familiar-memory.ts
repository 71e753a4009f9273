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
import type { Aliases } from './names.ts'
import type { Recall } from './recall/recall.ts'

/** All memory operations, for tools and interfaces. */
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
  decayState(userId: string): Promise<DecayState>
  /** Embedding progress; undefined if recall uses words only. */
  embeddingStatus(userId: string): Promise<EmbeddingStatus | undefined>
}
