export interface OutputFrame {
  stream: 'stdout' | 'stderr'
  bytes: Uint8Array
}

/**
 * Takes apart what an engine sends for a container without a terminal: eight bytes (1 or 2 for the stream, three zeros,
 * the length) before each piece. Pieces are told as they come in, not when they are whole, so that nothing is kept.
 */
export function createDemultiplexer(tell: (frame: OutputFrame) => void): (chunk: Uint8Array) => void {
  const header = Buffer.alloc(8)
  let headerFilled = 0
  let left = 0

  return (chunk) => {
    let at = 0
    while (at < chunk.length) {
      if (left === 0) {
        const piece = chunk.subarray(at, at + header.length - headerFilled)
        header.set(piece, headerFilled)
        headerFilled += piece.length
        at += piece.length
        if (headerFilled < header.length) return
        headerFilled = 0
        left = header.readUInt32BE(4)
        continue
      }
      const bytes = chunk.subarray(at, at + left)
      at += bytes.length
      left -= bytes.length
      tell({ stream: header[0] === 2 ? 'stderr' : 'stdout', bytes })
    }
  }
}
