import type { Json } from '../protocol/json.ts'

/**
 * Short words between the daemons that share a database. They are quick and not certain: whoever hears one reads what it
 * speaks of from the tables, and after a gap reads anyway. A daemon does not hear itself.
 */
export interface Notices {
  /** Returns at once. Several of the same moment go together; what is larger than a few kilobytes is not sent. */
  publish(topic: string, data: Json): void
  /** Calls until the returned function is called. */
  on(topic: string, listener: (data: Json) => void): () => void
  /** Something may have been missed: a daemon died before it could tell what it had done. */
  onGap(listener: () => void): () => void
}
