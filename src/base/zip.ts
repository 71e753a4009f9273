import { inflateRawSync } from 'node:zlib'

interface ZipEntry {
  method: number
  isEncrypted: boolean
  packedBytes: number
  offset: number
  /** Unix mode; 0 if the archive was made elsewhere. */
  mode: number
}

export interface ZipLimits {
  entries: number
  entryBytes: number
  /** Limit for everything unpacked from one archive: a small one can expand to gigabytes. */
  bytes: number
}

/**
 * Reads the list of entries at the end of an untrusted archive; entries are unpacked on demand. Error messages are
 * written to follow the file name.
 */
export function openZip(bytes: Uint8Array, limits: ZipLimits) {
  const data = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const entries = readDirectory(data, limits.entries)
  let room = limits.bytes
  return {
    names: () => [...entries.keys()],
    has: (name: string) => entries.has(name),
    /** The content is the path of another file. */
    isLink: (name: string) => ((entries.get(name)?.mode ?? 0) & 0o170000) === 0o120000,
    isExecutable: (name: string) => ((entries.get(name)?.mode ?? 0) & 0o111) !== 0,
    /** Undefined if there is no such entry. */
    read(name: string): Uint8Array | undefined {
      const entry = entries.get(name)
      if (!entry) return undefined
      if (entry.isEncrypted) throw new Error('it is encrypted')
      const content = unpack(data, entry, Math.min(room, limits.entryBytes))
      room -= content.length
      return content
    },
  }
}

function readDirectory(data: Buffer, maxEntries: number): Map<string, ZipEntry> {
  const end = data.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  if (end < 0 || end + 22 > data.length) throw new Error('it is damaged')
  const count = data.readUInt16LE(end + 10)
  if (count > maxEntries) throw new Error('it contains too many files')
  const entries = new Map<string, ZipEntry>()
  let at = data.readUInt32LE(end + 16)
  for (let index = 0; index < count; index += 1) {
    if (at + 46 > data.length || data.readUInt32LE(at) !== 0x02014b50) throw new Error('it is damaged')
    const nameBytes = data.readUInt16LE(at + 28)
    const name = data.toString('utf8', at + 46, at + 46 + nameBytes)
    entries.set(name, {
      isEncrypted: (data.readUInt16LE(at + 8) & 1) === 1,
      method: data.readUInt16LE(at + 10),
      packedBytes: data.readUInt32LE(at + 20),
      mode: data.readUInt8(at + 5) === 3 ? data.readUInt16LE(at + 40) : 0,
      offset: data.readUInt32LE(at + 42),
    })
    at += 46 + nameBytes + data.readUInt16LE(at + 30) + data.readUInt16LE(at + 32)
  }
  return entries
}

function unpack(data: Buffer, { offset, method, packedBytes }: ZipEntry, maxBytes: number): Uint8Array {
  if (offset + 30 > data.length || data.readUInt32LE(offset) !== 0x04034b50) throw new Error('it is damaged')
  const start = offset + 30 + data.readUInt16LE(offset + 26) + data.readUInt16LE(offset + 28)
  const packed = data.subarray(start, start + packedBytes)
  if (packed.length < packedBytes) throw new Error('it is damaged')
  if (packed.length > maxBytes || maxBytes <= 0) throw new Error('it is too large when unpacked')
  if (method === 0) return packed
  if (method !== 8) throw new Error('its compression method is not supported')
  try {
    return inflateRawSync(packed, { maxOutputLength: maxBytes })
  } catch (cause) {
    const isTooLarge = cause instanceof Error && 'code' in cause && cause.code === 'ERR_BUFFER_TOO_LARGE'
    throw new Error(isTooLarge ? 'it is too large when unpacked' : 'it is damaged', { cause })
  }
}
