import { constants } from 'node:fs'
import { lstat, open, readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'

/**
 * A folder as a tar archive, for an engine to build from. The same files give the same bytes: owners and times are left
 * out. Links are sent as links and never followed, so that nothing from outside the folder is read.
 */
export function tarDirectory(directory: string): Readable {
  return Readable.from(tarArchive(directory), { objectMode: false })
}

async function* tarArchive(root: string): AsyncGenerator<Uint8Array> {
  yield* tarFolder(root, '')
  yield new Uint8Array(blockBytes * 2)
}

async function* tarFolder(root: string, folder: string): AsyncGenerator<Uint8Array> {
  for (const name of (await readdir(join(root, folder))).sort()) {
    // The history of a tool is no part of it.
    if (name === '.git') continue
    const path = folder + name
    const found = await lstat(join(root, path))
    if (found.isDirectory()) {
      yield* header({ path: `${path}/`, kind: '5', mode: 0o755, size: 0 })
      yield* tarFolder(root, `${path}/`)
    } else if (found.isSymbolicLink()) {
      yield* header({ path, kind: '2', mode: 0o777, size: 0, link: await readlink(join(root, path)) })
    } else if (found.isFile()) {
      yield* tarFile(root, path)
    }
  }
}

async function* tarFile(root: string, path: string): AsyncGenerator<Uint8Array> {
  const file = await open(join(root, path), constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    const { size, mode } = await file.stat()
    yield* header({ path, kind: '0', mode: mode & 0o111 ? 0o755 : 0o644, size })
    // A file that grows or shrinks meanwhile must not shift what follows it.
    let left = size
    while (left > 0) {
      const piece = Buffer.alloc(Math.min(left, pieceBytes))
      const { bytesRead } = await file.read(piece, 0, piece.length, null)
      if (bytesRead === 0) throw new Error(`${path} was cut short while it was read`)
      left -= bytesRead
      yield piece.subarray(0, bytesRead)
    }
    yield* padding(size)
  } finally {
    await file.close()
  }
}

const blockBytes = 512
const pieceBytes = 65_536

interface Entry {
  path: string
  kind: '0' | '2' | '5' | 'x'
  mode: number
  size: number
  link?: string
}

function* header(entry: Entry): Generator<Uint8Array> {
  // Names that are long or not plain stand in an extra record before the entry itself.
  const records = { path: entry.path, ...(entry.link !== undefined && { linkpath: entry.link }) }
  const unusual = Object.entries(records).filter(([, value]) => !/^[\x20-\x7e]{1,100}$/.test(value))
  if (unusual.length > 0) {
    const body = Buffer.from(unusual.map(([key, value]) => extraRecord(key, value)).join(''))
    yield block({ path: 'extra', kind: 'x', mode: 0o644, size: body.length })
    yield body
    yield* padding(body.length)
  }
  yield block(entry)
}

/** `LENGTH key=value\n`, where the length counts itself. */
function extraRecord(key: string, value: string): string {
  const rest = Buffer.byteLength(` ${key}=${value}\n`)
  let length = rest + String(rest).length
  if (rest + String(length).length !== length) length = rest + String(length).length
  return `${length} ${key}=${value}\n`
}

function block({ path, kind, mode, size, link = '' }: Entry): Uint8Array {
  const bytes = Buffer.alloc(blockBytes)
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`
  bytes.write(path, 0, 100)
  bytes.write(octal(mode, 8), 100)
  bytes.write(octal(0, 8), 108)
  bytes.write(octal(0, 8), 116)
  bytes.write(octal(size, 12), 124)
  bytes.write(octal(0, 12), 136)
  bytes.fill(' ', 148, 156)
  bytes.write(kind, 156)
  bytes.write(link, 157, 100)
  bytes.write('ustar\x0000', 257, 'latin1')
  const sum = bytes.reduce((total, byte) => total + byte, 0)
  bytes.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return bytes
}

function* padding(size: number): Generator<Uint8Array> {
  const over = size % blockBytes
  if (over > 0) yield new Uint8Array(blockBytes - over)
}
