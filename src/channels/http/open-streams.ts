import { FamiliarError } from '../../protocol/error.ts'

/** The event streams under way: not too many, and all of them ended at once when the server stops. */
export interface OpenStreams {
  /** The signal aborts when the stream is to end; whoever took it gives it back with `release`. */
  open(userId: string): { signal: AbortSignal; release: () => void }
  endAll(): void
}

/** One user alone cannot take every place. */
export function createOpenStreams({ inAll, ofUser }: { inAll: number; ofUser: number }): OpenStreams {
  const streams = new Map<AbortController, string>()

  function refuse(userId: string): void {
    const own = streams.values().reduce((count, other) => count + (other === userId ? 1 : 0), 0)
    if (own >= ofUser) throw tooMany(`You have ${ofUser} streams open, and no more are allowed`)
    if (streams.size >= inAll) throw tooMany(`More than ${inAll} streams are open`)
  }

  return {
    open(userId) {
      refuse(userId)
      const controller = new AbortController()
      streams.set(controller, userId)
      const release = () => {
        streams.delete(controller)
        controller.abort()
      }
      return { signal: controller.signal, release }
    },
    endAll() {
      for (const controller of streams.keys()) controller.abort()
    },
  }
}

function tooMany(message: string): FamiliarError {
  return new FamiliarError('rate_limited', message, { retryAfterSeconds: 5 })
}
