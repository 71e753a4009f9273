/**
 * One question to the fast language model, outside any conversation: under the user's caps, retried, in the ledger.
 * It never throws for a model that fails, is not there or costs too much: the answer says so in words for the log.
 */
export type AskModel = (question: {
  userId: string
  sessionId: string | null
  /** What the ledger files it under: `extraction`, `consolidation`, `deep_memory`, … */
  purpose: string
  system: string
  text: string
  signal: AbortSignal
}) => Promise<ModelAnswer>

export type ModelAnswer =
  | { ok: true; text: string }
  /** `no_model`: only the offline model is there, which cannot answer such questions. */
  | { ok: false; reason: 'no_model' | 'budget' | 'aborted' | 'failed'; message: string }
