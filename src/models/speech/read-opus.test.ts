import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loudness } from '../../../test/support/made-sound.ts'
import { hasTranscriptionModel, voiceModels } from '../../../test/support/voice-models.ts'
import { voiceNote } from '../../../test/support/voice-note.ts'
import { checksum, type DecodeOpus, readOgg, readOpus, readRecording } from './recordings.ts'
import { findOpusDecoder } from './whisper.ts'

/** Silence of the length that the packets declare. */
const silent: DecodeOpus = async (packets, { channels, rate }) =>
  Array.from({ length: channels }, () => new Float32Array(packets.length * 0.04 * rate))

/** A file of one stream, one packet a page. */
function makeOgg(packets: readonly Uint8Array[]): Uint8Array {
  const pages = packets.map((packet, index) => {
    const sizes = [...Array<number>(Math.floor(packet.length / 255)).fill(255), packet.length % 255]
    const page = Buffer.alloc(27 + sizes.length + packet.length)
    page.write('OggS')
    page[5] = index === 0 ? 2 : 0
    page.writeBigUInt64LE(BigInt(index * 960), 6)
    page.writeUInt32LE(7, 14)
    page.writeUInt32LE(index, 18)
    page[26] = sizes.length
    page.set(sizes, 27)
    page.set(packet, 27 + sizes.length)
    page.writeUInt32LE(checksum(page), 22)
    return page
  })
  return Buffer.concat(pages)
}

const head = Uint8Array.from([...Buffer.from('OpusHead'), 1, 1, 0x38, 1, 0x80, 0xbb, 0, 0, 0, 0, 0])
const tags = Buffer.from('OpusTags')

describe('voice notes', () => {
  it('CHAN-4 finds the packets of a file, and a phone’s voice note has its real length', async () => {
    const stream = readOgg(voiceNote)
    expect(stream?.packets.slice(0, 2).map((packet) => Buffer.from(packet.subarray(0, 8)).toString())).toEqual([
      'OpusHead',
      'OpusTags',
    ])
    const heard = await readOpus(voiceNote, silent)
    if (!heard.ok) throw new Error(heard.reason)
    expect(heard.sound.rate).toBe(16_000)
    expect(heard.sound.samples.length / 16_000).toBeCloseTo((stream?.lastGranule ?? 0) / 48_000 - 312 / 48_000, 3)
  })

  it('CHAN-4 packets are restored at any length', () => {
    const packets = fc.array(fc.uint8Array({ maxLength: 2_000 }), { minLength: 1, maxLength: 8 })
    fc.assert(
      fc.property(packets, (given) => {
        expect(readOgg(makeOgg(given))?.packets.map((packet) => [...packet])).toEqual(
          given.map((packet) => [...packet]),
        )
      }),
      { numRuns: 50 },
    )
  })

  it('CHAN-4 a truncated file is read to that point; a damaged page ends it', () => {
    const whole = readOgg(voiceNote)?.packets.length ?? 0
    const cut = readOgg(voiceNote.subarray(0, voiceNote.length - 1))?.packets.length ?? 0
    expect(cut).toBeLessThan(whole)
    const damaged = Uint8Array.from(voiceNote)
    damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 1
    expect(readOgg(damaged)?.packets.length).toBe(cut)
  })

  it('CHAN-4 no file breaks the reader', async () => {
    const changed = fc.tuple(fc.nat(voiceNote.length - 1), fc.nat(255)).map(([at, byte]) => {
      const data = Uint8Array.from(voiceNote)
      data[at] = byte
      return data
    })
    const packets = fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 6 })
    const made = packets.map((rest) => makeOgg([head, tags, ...rest]))
    await fc.assert(
      fc.asyncProperty(fc.oneof(changed, made, fc.uint8Array({ maxLength: 300 })), async (data) => {
        await readOpus(data, silent)
      }),
      { numRuns: 300 },
    )
  })

  it('SEC-18 a small file of many days is not decoded', async () => {
    let isAsked = false
    // A packet may declare 120 milliseconds and contain nothing.
    const packets = Array.from({ length: 6_000 }, () => Uint8Array.of(0b0001_1011, 2))
    const heard = await readOpus(makeOgg([head, tags, ...packets]), async () => {
      isAsked = true
      return []
    })
    expect(heard).toMatchObject({ ok: false, reason: expect.stringContaining('10 minutes') })
    expect(isAsked).toBe(false)
  })

  it('CHAN-4 without the decoder it says how to get it', async () => {
    expect(await readRecording(voiceNote, null)).toMatchObject({
      ok: false,
      reason: expect.stringContaining('familiar voice install'),
    })
    expect(await readRecording(Buffer.from('ID3 and more'), null)).toMatchObject({
      ok: false,
      reason: expect.stringMatching(/WAV.*OGG.*ffmpeg/),
    })
  })

  it('CHAN-4 a decoder with another hash is not run', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'familiar-opus-'))
    const code = 'globalThis.wasRun = true; exports.OpusDecoder = class {}'
    await writeFile(join(folder, 'opus-decoder.min.js'), code)
    expect(await findOpusDecoder(folder)).toBeNull()
    expect(globalThis).not.toHaveProperty('wasRun')
    await rm(folder, { recursive: true })
  })

  it.skipIf(!hasTranscriptionModel)('CHAN-4 a voice note is decoded (needs FAMILIAR_TEST_VOICE)', async () => {
    const decode = await findOpusDecoder(join(voiceModels ?? '', 'opus-decoder'))
    if (!decode) throw new Error('The decoder was not found')
    const heard = await readOpus(voiceNote, decode)
    if (!heard.ok) throw new Error(heard.reason)
    expect(heard.sound.samples.length / 16_000).toBeCloseTo(0.64, 1)
    expect(loudness(heard.sound.samples)).toBeGreaterThan(0.01)
  })
})
