/** The packets of the first stream in an Ogg file, and where it says to end. */
export interface OggStream {
  packets: Uint8Array[]
  /** The place after the last sample, as the last whole page tells it; null where none does. */
  lastGranule: number | null
}

const headerBytes = 27
const continued = 1
const first = 2
/** A page without the end of a packet in it has no place. */
const noPlace = 0xffff_ffff_ffff_ffffn

/**
 * Reads page by page, as far as they are whole: what a cut-off upload brought is heard to that point. Undefined where there
 * is no stream. Never throws.
 */
export function readOgg(data: Uint8Array): OggStream | undefined {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength)
  const packets: Uint8Array[] = []
  let serial: number | undefined
  let lastGranule: number | null = null
  let begun: Uint8Array[] = []
  for (let at = 0; at + headerBytes <= data.length; ) {
    const page = pageAt(view, data, at)
    if (!page) break
    at = page.end
    if (serial === undefined && page.flags & first) serial = page.serial
    // Other streams may lie between the pages of this one.
    if (page.serial !== serial) continue
    if (!(page.flags & continued)) begun = []
    for (const { part, isLast } of page.parts) {
      begun.push(part)
      if (!isLast) continue
      packets.push(begun.length === 1 ? part : Buffer.concat(begun))
      begun = []
    }
    if (page.granule !== noPlace) lastGranule = Number(page.granule)
  }
  return serial === undefined ? undefined : { packets, lastGranule }
}

interface Page {
  flags: number
  granule: bigint
  serial: number
  /** Pieces of packets; one that is not the last goes on in the next page. */
  parts: { part: Uint8Array; isLast: boolean }[]
  end: number
}

/** Undefined where no whole and sound page begins. */
function pageAt(view: DataView, data: Uint8Array, at: number): Page | undefined {
  if (view.getUint32(at, false) !== 0x4f67_6753 || view.getUint8(at + 4) !== 0) return undefined
  const count = view.getUint8(at + 26)
  const bodyAt = at + headerBytes + count
  const sizes = data.subarray(at + headerBytes, bodyAt)
  const end = sizes.reduce((sum, size) => sum + size, bodyAt)
  if (sizes.length !== count || end > data.length) return undefined
  if (checksum(data.subarray(at, end)) !== view.getUint32(at + 22, true)) return undefined
  const parts: Page['parts'] = []
  let from = bodyAt
  let until = bodyAt
  for (const [index, size] of sizes.entries()) {
    until += size
    // A full segment is followed by more of the same packet.
    const isLast = size < 255
    if (!isLast && index < sizes.length - 1) continue
    parts.push({ part: data.subarray(from, until), isLast })
    from = until
  }
  return {
    flags: view.getUint8(at + 5),
    granule: view.getBigUint64(at + 6, true),
    serial: view.getUint32(at + 14, true),
    parts,
    end,
  }
}

const checksums = Uint32Array.from({ length: 256 }, (_, index) => {
  let value = index << 24
  for (let bit = 0; bit < 8; bit += 1) value = (value << 1) ^ (value < 0 ? 0x04c1_1db7 : 0)
  return value >>> 0
})

/** Ogg's own, with its place in the header taken as zero. */
export function checksum(page: Uint8Array): number {
  let value = 0
  for (const [index, byte] of page.entries()) {
    const read = index >= 22 && index < 26 ? 0 : byte
    value = ((value << 8) ^ (checksums[(value >>> 24) ^ read] ?? 0)) >>> 0
  }
  return value
}
