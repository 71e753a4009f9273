import { type Heard, longestSeconds, type Sound, tooLong, unreadable } from './heard.ts'
import { readOgg } from './read-ogg.ts'

/** Turns packets of Opus into sound, one array a channel, at the rate that was asked for. */
export type DecodeOpus = (
  packets: readonly Uint8Array[],
  format: { channels: number; rate: number },
) => Promise<Float32Array[]>

/** The rate that the model listens at: the decoder can give it directly. */
const rate = 16_000
/** Opus counts places as if it had this rate, whatever it has. */
const countedRate = 48_000
/** What the decoder has room for. */
const longestPacket = 3_840

/** A voice note in Ogg and Opus, as Telegram and browsers make them. Throws only what `decode` throws. */
export async function readOpus(data: Uint8Array, decode: DecodeOpus): Promise<Heard> {
  const stream = readOgg(data)
  const [head, tags, ...packets] = stream?.packets ?? []
  if (!head || !tags || textAt(head, 8) !== 'OpusHead' || head.length < 19) {
    return unreadable('The OGG file holds no Opus sound.')
  }
  const channels = head[9] ?? 0
  if (channels < 1 || channels > 2 || head[18] !== 0)
    return unreadable('OGG files with this many channels cannot be read.')
  const seconds = packets.reduce((sum, packet) => sum + secondsIn(packet), 0)
  if (seconds > longestSeconds) return tooLong()
  const sound = packets.filter((packet) => packet.length > 0 && packet.length <= longestPacket)
  const decoded = await decode(sound, { channels, rate })
  const skipped = (head[10] ?? 0) + (head[11] ?? 0) * 256
  return { ok: true, sound: trimmed(mixed(decoded), { skipped, lastGranule: stream?.lastGranule ?? null }) }
}

function mixed(channels: readonly Float32Array[]): Float32Array {
  const [left = new Float32Array(), right] = channels
  return right ? left.map((sample, index) => (sample + (right[index] ?? 0)) / 2) : left
}

/** Without the run-up of the decoder, and without what only fills the last packet. */
function trimmed(samples: Float32Array, ends: { skipped: number; lastGranule: number | null }): Sound {
  const from = Math.round((ends.skipped * rate) / countedRate)
  const until = ends.lastGranule === null ? samples.length : Math.round((ends.lastGranule * rate) / countedRate)
  return { samples: samples.slice(from, Math.max(from, until)), rate }
}

/** The first byte tells the length of a frame and, with the second, how many there are. */
function secondsIn(packet: Uint8Array): number {
  const [kind = 0, count = 0] = packet
  const size = kind >> 3
  const frameMs =
    size < 12 ? ([10, 20, 40, 60][size % 4] ?? 0) : size < 16 ? ([10, 20][size % 2] ?? 0) : 2.5 * 2 ** (size % 4)
  const frames = kind % 4 === 0 ? 1 : kind % 4 === 3 ? count % 64 : 2
  return (frameMs * frames) / 1_000
}

function textAt(data: Uint8Array, length: number): string {
  return String.fromCharCode(...data.subarray(0, length))
}
