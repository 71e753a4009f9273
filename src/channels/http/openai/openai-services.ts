import type { GuardedFetch } from '../../../egress/guarded-fetch.ts'
import type { Embedder } from '../../../memory/embedding/embedder.ts'
import type { Models } from '../../../models/models.ts'

/** What clients of OpenAI's API need beside the conversations (HTTP-5). */
export interface OpenAiServices {
  modelsOf(userId: string): Pick<Models, 'byId' | 'list'>
  /** From the next turn on; null gives the choice back to the config. */
  chooseModel(userId: string, sessionId: string, model: string | null): Promise<unknown>
  /** Absent: there are no embeddings. */
  embedder?: Pick<Embedder, 'model' | 'dimensions' | 'embed'> | undefined
  /** For images that a message names by their address. It must have limits of its own on size and time. */
  fetch: GuardedFetch
}
