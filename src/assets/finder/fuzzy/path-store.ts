import { bitOf, foldUnit, isAscii } from './fold-path.ts'
import { bonusAt } from './score-term.ts'

/**
 * Many paths in few arrays: a hundred thousand strings and objects would be slow to go through and large to keep. Ids
 * are given in the order of adding and never again; a removed path keeps its id and matches nothing.
 */
export interface PathStore {
  readonly count: number
  readonly removed: number
  bytes(): Uint8Array
  starts(): Uint32Array
  /** Which kinds of characters occur; none in a path that was removed. */
  bits(): Uint32Array
  /** The same for those characters that a word begins with. */
  wordBits(): Uint32Array
  nameStarts(): Uint32Array
  add(path: string): number
  remove(id: number): void
  isThere(id: number): boolean
  pathOf(id: number): string
}

export function createPathStore(): PathStore {
  let bytes = Buffer.alloc(1 << 16)
  let starts = new Uint32Array(1 << 10)
  let nameStarts = new Uint32Array(1 << 10)
  let bits = new Uint32Array(1 << 10)
  let wordBits = new Uint32Array(1 << 10)
  // Bytes do not tell those apart.
  const odd = new Map<number, string>()
  let count = 0
  let removed = 0

  return {
    get count() {
      return count
    },
    get removed() {
      return removed
    },
    bytes: () => bytes,
    starts: () => starts,
    nameStarts: () => nameStarts,
    bits: () => bits,
    wordBits: () => wordBits,

    add(path) {
      const id = count
      const start = starts[id] as number
      const end = start + path.length
      if (end > bytes.length) bytes = Buffer.concat([bytes], Math.max(end, bytes.length * 2))
      if (id + 1 >= starts.length) {
        starts = grown(starts)
        nameStarts = grown(nameStarts)
        bits = grown(bits)
        wordBits = grown(wordBits)
      }
      // Every path has one at least: none at all tells one that was removed.
      let found = 0
      let atWords = 0
      for (let at = 0; at < path.length; at += 1) {
        const byte = foldUnit(path, at)
        bytes[start + at] = byte
        const bit = bitOf(byte)
        found |= bit
        if (bonusAt(bytes, start + at, start) > 0) atWords |= bit
      }
      if (!isAscii(path)) odd.set(id, path)
      bits[id] = found
      wordBits[id] = atWords
      nameStarts[id] = start + path.lastIndexOf('/') + 1
      starts[id + 1] = end
      count += 1
      return id
    },

    remove(id) {
      if (bits[id] === 0) return
      bits[id] = 0
      odd.delete(id)
      removed += 1
    },

    isThere: (id) => bits[id] !== 0,
    pathOf: (id) => odd.get(id) ?? bytes.toString('latin1', starts[id], starts[id + 1]),
  }
}

function grown(array: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(array.length * 2)
  larger.set(array)
  return larger
}
