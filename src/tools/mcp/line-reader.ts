const newline = 0x0a

/** Puts lines together out of the pieces in which they come. */
export interface LineReader {
  /** The lines that end in these bytes. What is left waits for the next ones. */
  take(bytes: Buffer): string[]
  /** Bytes of the line that has not ended yet. */
  waiting(): number
}

export function createLineReader(): LineReader {
  let pieces: Buffer[] = []
  let waiting = 0
  return {
    take(bytes) {
      const lines: string[] = []
      let from = 0
      for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, from)) {
        lines.push(Buffer.concat([...pieces, bytes.subarray(from, end)]).toString('utf8'))
        pieces = []
        waiting = 0
        from = end + 1
      }
      if (from < bytes.length) pieces.push(bytes.subarray(from))
      waiting += bytes.length - from
      return lines
    },
    waiting: () => waiting,
  }
}
