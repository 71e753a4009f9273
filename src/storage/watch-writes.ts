import type { Database } from './database.ts'

/**
 * The same database, and a way to hear that something was written to it. The listener is called after the commit and is
 * told nothing: it looks for itself. A unit that failed wrote nothing.
 */
export function watchWrites<Opened extends Database>(
  database: Opened,
): {
  database: Opened
  /** Calls until the returned function is called. */
  onWrite(listener: () => void): () => void
} {
  const listeners = new Set<() => void>()
  return {
    database: {
      ...database,
      async write(unit, options) {
        const result = await database.write(unit, options)
        for (const listener of listeners) listener()
        return result
      },
    },
    onWrite(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
