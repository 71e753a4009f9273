/** Keeps the first `limit` bytes and says once when more come. */
export function collectOutput(limit: number, onTooMuch: () => void) {
  const chunks: Uint8Array[] = []
  let length = 0
  let isFull = false
  return {
    take(bytes: Uint8Array): void {
      if (isFull) return
      const room = limit - length
      chunks.push(bytes.subarray(0, room))
      length += Math.min(bytes.length, room)
      if (bytes.length <= room) return
      isFull = true
      onTooMuch()
    },
    bytes: (): Uint8Array => Buffer.concat(chunks, length),
  }
}
