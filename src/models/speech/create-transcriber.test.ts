import { spawnSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { type Answer, type LocalSite, openLocalSite } from '../../../test/support/local-site.ts'
import { loudness, makeToneWav } from '../../../test/support/made-sound.ts'
import { createServedVoice } from '../../../test/support/served-voice.ts'
import { hasSpeechModel, hasTranscriptionModel, voiceModels } from '../../../test/support/voice-models.ts'
import { voiceNote } from '../../../test/support/voice-note.ts'
import { systemClock } from '../../base/clock.ts'
import { createRunChild } from '../../base/processes.ts'
import { readWav } from './recordings.ts'
import { convertRecording } from './transcriber.ts'

const { signal } = new AbortController()
const recording = { data: makeToneWav(0.1), mediaType: 'audio/wav', signal }
const hasFfmpeg = spawnSync('ffmpeg', ['-version']).status === 0
const hasEspeak = spawnSync('espeak-ng', ['--version']).status === 0
let site: LocalSite | undefined
afterEach(async () => {
  await site?.close()
  site = undefined
})

describe('transcription', () => {
  it('CHAN-4 is unavailable without an installation: it says how to install, and fetches nothing', async () => {
    for (const provider of ['auto', 'local'] as const) {
      const { transcriber } = createServedVoice({ transcription: { provider } })
      expect(transcriber.status()).toMatchObject({ by: null, hint: expect.stringContaining('familiar voice install') })
      expect(await transcriber.transcribe(recording)).toMatchObject({
        ok: false,
        reason: expect.stringContaining('familiar voice install'),
      })
      await transcriber.close()
    }
  })

  it('CHAN-4 is unavailable if switched off', async () => {
    const { transcriber } = createServedVoice()
    expect(await transcriber.transcribe(recording)).toMatchObject({ ok: false, reason: expect.stringContaining('off') })
  })
})

describe('an OpenAI-compatible service', () => {
  async function ask(answer: Answer, mediaType = 'audio/ogg; codecs=opus', data = voiceNote) {
    site = await openLocalSite(answer)
    const { transcriber } = createServedVoice({
      transcription: {
        provider: 'openai-compatible',
        baseUrl: `${site.origin}/v1/`,
        apiKey: 'the-key',
        model: 'whisper-1',
      },
    })
    expect(transcriber.status()).toEqual({ by: 'whisper-1' })
    return await transcriber.transcribe({ data, mediaType, signal })
  }

  it('CHAN-4 is called through its API', async () => {
    const answer: Answer = (_request, response) => response.end('{"text":" Hi there. "}')
    expect(await ask(answer)).toEqual({ ok: true, text: 'Hi there.', by: 'whisper-1' })
    const [request] = site?.requests ?? []
    expect(request).toMatchObject({
      method: 'POST',
      url: '/v1/audio/transcriptions',
      headers: { authorization: 'Bearer the-key' },
    })
    expect(request?.body).toContain('name="model"\r\n\r\nwhisper-1\r\n')
    expect(request?.body).toContain('filename="voice.ogg"\r\ncontent-type: audio/ogg\r\n\r\nOggS')
  })

  it('CHAN-4 gets no header from the sender of the recording', async () => {
    await ask((_request, response) => response.end('{"text":""}'), 'audio/ogg"\r\nx-evil: 1\r\n\r\n')
    expect(site?.requests[0]?.body).not.toContain('x-evil')
  })

  it.each([401, 413, 429, 500])('CHAN-4 is reported if it answers %d, without its text', async (status) => {
    const answer: Answer = (_request, response) =>
      response.writeHead(status).end('{"error":{"message":"FOREIGN WORDS"}}')
    const outcome = await ask(answer)
    expect(outcome).toMatchObject({ ok: false, fault: 'service', reason: expect.stringContaining(String(status)) })
    expect(JSON.stringify(outcome)).not.toContain('FOREIGN')
  })

  it('CHAN-4 is reported if it sends no text, or nothing', async () => {
    expect(await ask((_request, response) => response.end('<html>'))).toMatchObject({ ok: false, fault: 'service' })
    expect(await ask((_request, response) => response.destroy())).toMatchObject({ ok: false, fault: 'service' })
  })
})

describe('other kinds of recordings', () => {
  const machine = { runChild: createRunChild({ clock: systemClock() }), searchPath: '/usr/bin:/bin' }

  it.skipIf(!hasFfmpeg)('CHAN-4 are converted to WAV by the user’s ffmpeg (needs ffmpeg)', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'familiar-audio-'))
    await writeFile(join(folder, 'a.wav'), makeToneWav(1, 44_100))
    // The index of an M4A is at its end.
    for (const name of ['a.mp3', 'a.m4a', 'a.webm']) {
      spawnSync('ffmpeg', ['-loglevel', 'error', '-i', join(folder, 'a.wav'), join(folder, name)])
      const { stdout } = spawnSync('cat', [join(folder, name)], { encoding: 'buffer' })
      const heard = readWav((await convertRecording(machine, { data: stdout, signal })) ?? new Uint8Array())
      if (!heard.ok) throw new Error(`${name}: ${heard.reason}`)
      expect(heard.sound.samples.length / heard.sound.rate, name).toBeCloseTo(1, 0)
      expect(loudness(heard.sound.samples), name).toBeGreaterThan(0.2)
    }
    await rm(folder, { recursive: true })
  })

  it.skipIf(!hasFfmpeg)('SEC-8 a playlist that names a file or an address gets neither (needs ffmpeg)', async () => {
    site = await openLocalSite((_request, response) => response.end('secret'))
    const folder = await mkdtemp(join(tmpdir(), 'familiar-audio-'))
    await writeFile(join(folder, 'a.wav'), makeToneWav(1))
    for (const named of [join(folder, 'a.wav'), `${site.origin}/a.wav`]) {
      const playlist = `#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\n${named}\n#EXT-X-ENDLIST\n`
      expect(await convertRecording(machine, { data: Buffer.from(playlist), signal })).toBeUndefined()
      const list = `ffconcat version 1.0\nfile '${named}'\n`
      expect(await convertRecording(machine, { data: Buffer.from(list), signal })).toBeUndefined()
    }
    expect(site.connections()).toBe(0)
    await rm(folder, { recursive: true })
  })
})

describe('the models on this machine', () => {
  const speaks = hasSpeechModel && hasTranscriptionModel && hasEspeak
  it.skipIf(!speaks)(
    'CHAN-4 one transcribes what the other says (needs FAMILIAR_TEST_VOICE and espeak-ng)',
    async () => {
      const { speaker, transcriber } = createServedVoice({
        folder: voiceModels ?? '',
        speech: { provider: 'local' },
        transcription: { provider: 'auto' },
      })
      expect(await speaker.status()).toMatchObject({ by: 'kokoro-82m', voices: expect.arrayContaining(['af_heart']) })
      const text = 'Please remind me to call the dentist tomorrow. The train leaves at noon.'
      const spoken = await speaker.speak({ text, voice: null, signal })
      if (!spoken.ok) throw new Error(spoken.reason)
      expect(await transcriber.transcribe({ ...spoken.recording, signal })).toMatchObject({
        ok: true,
        by: 'whisper-tiny',
        text: expect.stringMatching(/remind me to call the dentist tomorrow\. The train leaves at noon/),
      })
      expect(await transcriber.transcribe({ data: voiceNote, mediaType: 'audio/ogg', signal })).toMatchObject({
        ok: true,
      })
      const broken = { data: voiceNote.subarray(0, 60), mediaType: 'audio/ogg', signal }
      expect(await transcriber.transcribe(broken)).toMatchObject({ ok: false, reason: expect.stringContaining('OGG') })
      expect(await speaker.speak({ text, voice: '../../etc/passwd', signal })).toMatchObject({ ok: false })
      await transcriber.close()
    },
    // Both models on a busy machine.
    180_000,
  )
})
