import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'

const block = 512

/**
 * Takes some files out of a package's tarball: `wanted` has their places in it, each with the name that it gets in `folder`.
 * Nothing else is written, whatever the tarball holds. One that is cut off or damaged throws; a file that is not there is
 * left out.
 */
export async function unpackFiles(options: {
  tarball: string
  wanted: ReadonlyMap<string, string>
  folder: string
  signal: AbortSignal
}): Promise<void> {
  const { tarball, signal } = options
  const unzipped = createGunzip()
  // What goes wrong with either of them is told to whoever reads.
  pipeline(createReadStream(tarball, { signal }), unzipped, () => undefined)
  try {
    await unpackEntries(createBlockReader(unzipped), options)
  } finally {
    unzipped.destroy()
  }
}

async function unpackEntries(
  input: BlockReader,
  { wanted, folder }: { wanted: ReadonlyMap<string, string>; folder: string },
): Promise<void> {
  for (;;) {
    const header = await input.read(block)
    if (header.every((byte) => byte === 0)) break
    const size = Number.parseInt(textIn(header, 124, 12), 8)
    if (!Number.isSafeInteger(size)) throw new Error('The package is damaged.')
    const name = wanted.get(placeOf(header))
    const isFile = ['0', ''].includes(textIn(header, 156, 1))
    const target = name !== undefined && isFile ? await open(join(folder, name), 'wx', 0o600) : undefined
    try {
      const padded = Math.ceil(size / block) * block
      for (let left = padded; left > 0; ) {
        const chunk = await input.readSome(left)
        // What fills the last block is none of it.
        const own = chunk.subarray(0, Math.max(0, Math.min(chunk.length, size - (padded - left))))
        left -= chunk.length
        await target?.writeFile(own)
      }
    } finally {
      await target?.close()
    }
  }
}

/** Everything in a package lies in one folder, mostly "package". */
function placeOf(header: Uint8Array): string {
  const prefix = textIn(header, 345, 155)
  const path = prefix === '' ? textIn(header, 0, 100) : `${prefix}/${textIn(header, 0, 100)}`
  return path.slice(path.indexOf('/') + 1)
}

function textIn(header: Uint8Array, at: number, length: number): string {
  const [text = ''] = Buffer.from(header.subarray(at, at + length))
    .toString('utf8')
    .split('\0', 1)
  return text.trim()
}

interface BlockReader {
  /** Exactly as many bytes; zeros where the input ended before them, as tarballs may. */
  read(length: number): Promise<Uint8Array>
  /** At least one byte and at most `most`. Throws where there are no more. */
  readSome(most: number): Promise<Uint8Array>
}

function createBlockReader(input: AsyncIterable<Buffer>): BlockReader {
  const chunks = input[Symbol.asyncIterator]()
  let rest: Uint8Array = new Uint8Array()

  async function next(most: number): Promise<Uint8Array | undefined> {
    while (rest.length === 0) {
      const { value, done } = await chunks.next()
      if (done) return undefined
      rest = value
    }
    const taken = rest.subarray(0, most)
    rest = rest.subarray(taken.length)
    return taken
  }

  return {
    async read(length) {
      const whole = new Uint8Array(length)
      for (let at = 0; at < length; ) {
        const part = await next(length - at)
        if (!part) break
        whole.set(part, at)
        at += part.length
      }
      return whole
    },
    async readSome(most) {
      const part = await next(most)
      if (!part) throw new Error('The package is cut off.')
      return part
    },
  }
}
