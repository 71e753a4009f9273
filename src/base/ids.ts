import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { Clock } from './clock.ts'

export type Ids = ReturnType<typeof createIds>

/** Creates ids that sort by creation time (UUID version 7, with a counter within one millisecond). */
export function createIds(clock: Clock, random: (size: number) => Uint8Array = pooledRandom()) {
  let lastTime = 0
  let counter = 0
  return {
    next(): string {
      const time = clock.now()
      if (time === lastTime) counter += 1
      else {
        lastTime = time
        counter = 0
      }
      // 12 bits of counter; beyond 4,095 ids in one millisecond the order within it is lost.
      const bytes = random(8)
      const timeHex = time.toString(16).padStart(12, '0')
      const counterHex = (counter & 0xfff).toString(16).padStart(3, '0')
      const tail = Buffer.from(bytes)
      tail[0] = ((tail[0] ?? 0) & 0x3f) | 0x80
      const tailHex = tail.toString('hex')
      return `${timeHex.slice(0, 8)}-${timeHex.slice(8)}-7${counterHex}-${tailHex.slice(0, 4)}-${tailHex.slice(4)}`
    },
  }
}

/** Random bytes from a pool: asking the system each time costs more than the id. */
export function pooledRandom(): (size: number) => Uint8Array {
  let pool = randomBytes(4096)
  let used = 0
  return (size) => {
    if (used + size > pool.length) {
      pool = randomBytes(4096)
      used = 0
    }
    used += size
    return pool.subarray(used - size, used)
  }
}

export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex')
}

/**
 * Proves that the sender knows the secret, in both directions: HMAC-SHA256 over `timestamp.nonce.body`. The timestamp
 * is digits and the nonce contains no dot, so that the boundaries cannot be moved.
 */
export function signRequest(
  secret: string,
  request: { timestamp: string; nonce: string; body: string | Uint8Array },
): Buffer {
  return createHmac('sha256', secret).update(`${request.timestamp}.${request.nonce}.`).update(request.body).digest()
}
