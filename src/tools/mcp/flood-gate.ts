import type { Clock } from '../../base/clock.ts'

/** More than this within the window is no conversation. Progress of a long call stays far below. */
const mostMessages = 2_000
const mostBytes = 64 * 1024 * 1024
const windowMs = 10_000

/** Counts what a server sends. `take` answers false once it is more than anybody could read. */
export interface FloodGate {
  take(sent: { messages: number; bytes: number }): boolean
}

export function createFloodGate(clock: Clock): FloodGate {
  let since = clock.now()
  let messages = 0
  let bytes = 0
  return {
    take(sent) {
      if (clock.now() - since >= windowMs) {
        since = clock.now()
        messages = 0
        bytes = 0
      }
      messages += sent.messages
      bytes += sent.bytes
      return messages <= mostMessages && bytes <= mostBytes
    },
  }
}

/** One message of a server, the largest that is read. */
export const largestMessageBytes = 8 * 1024 * 1024
