import { FamiliarError } from '../../protocol/error.ts'

/** The event streams under way: not too many, and all of them ended at once when the server stops. */
export interface OpenStreams {
  /** The signal aborts when the stream is to end; whoever took it gives it back with `release`. */
  open(): { signal: AbortSignal; release: () => void }
  endAll(): void
}

export function createOpenStreams(maxStreams: number): OpenStreams {
  const streams = new Set<AbortController>()
  return {
    open() {
      if (streams.size >= maxStreams) {
        throw new FamiliarError('rate_limited', `More than ${maxStreams} streams are open`, { retryAfterSeconds: 5 })
      }
      const controller = new AbortController()
      streams.add(controller)
      const release = () => {
        streams.delete(controller)
        controller.abort()
      }
      return { signal: controller.signal, release }
    },
    endAll() {
      for (const controller of streams) controller.abort()
    },
  }
}
