import { spawnSync } from 'node:child_process'
import OpenAI, { toFile } from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import { type ServedFamiliar, serveFamiliar } from '../../../test/security/http-support.ts'
import { type LocalSite, openLocalSite } from '../../../test/support/local-site.ts'
import { makeSyllablesWav, makeToneWav } from '../../../test/support/made-sound.ts'
import { createServedVoice } from '../../../test/support/served-voice.ts'

const hasEspeak = spawnSync('espeak-ng', ['--version']).status === 0
let served: ServedFamiliar | undefined
let site: LocalSite | undefined
afterEach(async () => {
  await served?.close()
  await site?.close()
  served = undefined
  site = undefined
})

const wav = Buffer.from(makeSyllablesWav()).toString('latin1')
const recording = { path: '/api/v1/voice/transcribe', body: wav, headers: { 'content-type': 'audio/wav' } }

describe('speech over HTTP', () => {
  it('CHAN-4 names the engines for speech and transcription, and what to do without one', async () => {
    served = await serveFamiliar({ voice: createServedVoice({ transcription: { provider: 'auto' } }) })
    expect((await served.call({ path: '/api/v1/voice' })).json).toEqual({
      speech: { by: null, hint: expect.stringContaining('off'), voices: [] },
      transcription: { by: null, hint: expect.stringContaining('familiar voice install') },
    })
    expect(await served.call(recording)).toMatchObject({ status: 503, json: { code: 'unavailable' } })
    const spoken = await served.call({ path: '/api/v1/voice/speak', body: { text: 'Hello' } })
    expect(spoken).toMatchObject({ status: 503, json: { code: 'unavailable' } })
  })

  it('VOICE-7 writes down a recording of any codec, and tells a service that fails', async () => {
    let status = 200
    site = await openLocalSite((_request, response) => response.writeHead(status).end('{"text":"Good morning."}'))
    const transcription = { provider: 'openai-compatible' as const, baseUrl: site.origin, model: 'ears' }
    served = await serveFamiliar({ voice: createServedVoice({ transcription }) })
    expect(await served.call(recording)).toMatchObject({
      status: 200,
      json: { text: 'Good morning.', by: 'ears', language: null, seconds: null },
    })
    // A recorder of a browser names the codec.
    const headers = { 'content-type': 'audio/ogg;codecs=opus' }
    expect((await served.call({ ...recording, headers })).status).toBe(200)
    expect((await served.call({ ...recording, headers: { 'content-type': 'text/plain;codecs=opus' } })).status).toBe(
      415,
    )
    status = 500
    expect(await served.call(recording)).toMatchObject({ status: 502, json: { code: 'provider_error' } })
  })

  it('HTTP-5b VOICE-4 writes down and speaks for a client of OpenAI, by the services that are set up', async () => {
    const sound = Buffer.from('ID3 made of bytes')
    site = await openLocalSite(({ url }, response) => {
      if (url.startsWith('/v1/text-to-speech/')) response.writeHead(200, { 'content-type': 'audio/mpeg' }).end(sound)
      else response.writeHead(200).end('{"text":"Good morning."}')
    })
    const transcription = { provider: 'openai-compatible' as const, baseUrl: site.origin, model: 'ears' }
    const speech = { provider: 'elevenlabs' as const, apiKey: 'eleven' }
    const voice = createServedVoice({ transcription, speech, elevenLabs: site.origin })
    served = await serveFamiliar({ voice })
    const apiKey = await served.tokenFor('chat')
    const client = new OpenAI({ baseURL: `${served.server.url}/v1`, apiKey, maxRetries: 0 })
    const file = () => toFile(makeSyllablesWav(), 'said.wav', { type: 'audio/wav' })
    const heard = await client.audio.transcriptions.create({ model: 'whisper-1', file: await file() })
    expect(heard).toMatchObject({ text: 'Good morning.' })
    expect(site.requests.at(-1)?.body).toContain('RIFF')
    const text = { model: 'whisper-1', response_format: 'text' as const }
    expect(await client.audio.transcriptions.create({ ...text, file: await file() })).toBe('Good morning.\n')
    const verbose = { model: 'whisper-1', response_format: 'verbose_json' as const }
    expect(await client.audio.transcriptions.create({ ...verbose, file: await file() })).toMatchObject({
      task: 'transcribe',
      text: 'Good morning.',
    })
    const asked = site.requests.length
    const noise = await toFile(makeToneWav(2), 'hum.wav', { type: 'audio/wav' })
    expect(await client.audio.transcriptions.create({ model: 'whisper-1', file: noise })).toMatchObject({ text: '' })
    expect(site.requests).toHaveLength(asked)
    const spoken = await client.audio.speech.create({ model: 'tts-1', voice: 'alloy', input: 'Hello' })
    expect(spoken.headers.get('content-type')).toBe('audio/mpeg')
    expect(Buffer.from(await spoken.arrayBuffer())).toEqual(sound)
    expect(JSON.parse(site.requests.at(-1)?.body ?? '')).toMatchObject({ text: 'Hello' })
    // A voice of OpenAI's is none of the service's.
    expect(site.requests.at(-1)?.url).not.toContain('alloy')
  })

  it('SEC-3 a token that may only read neither speaks nor has anything written down', async () => {
    served = await serveFamiliar()
    const token = await served.tokenFor('read')
    expect((await served.call({ ...recording, token })).status).toBe(403)
    expect((await served.call({ path: '/api/v1/voice/speak', body: { text: 'Hello' }, token })).status).toBe(403)
    expect((await served.call({ path: '/api/v1/voice', token })).status).toBe(200)
  })

  it.skipIf(!hasEspeak)('CHAN-4 says a text aloud: the answer is the sound (needs espeak-ng)', async () => {
    served = await serveFamiliar({ voice: createServedVoice({ speech: { provider: 'system' } }) })
    const { response } = await served.open({ path: '/api/v1/voice/speak', body: { text: 'Hello' } })
    const data = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>))
    expect(response.headers['content-type']).toBe('audio/wav')
    expect(data.subarray(0, 4).toString()).toBe('RIFF')
    const wrong = await served.call({ path: '/api/v1/voice/speak', body: { text: 'Hello', voice: 'zzz' } })
    expect(wrong).toMatchObject({ status: 503, json: { error: expect.stringContaining('zzz') } })
    expect((await served.call({ path: '/api/v1/voice/speak', body: { text: ' ' } })).status).toBe(400)
    const warm = await served.call({ path: '/api/v1/voice/warm', body: {} })
    expect(warm).toMatchObject({ status: 200, json: { speech: true, transcription: false } })
  })

  it.skipIf(!hasEspeak)(
    'VOICE-6 speaks in the language of the text, and says when there is no voice (needs espeak-ng)',
    async () => {
      const { speaker } = createServedVoice({ speech: { provider: 'system' } })
      const signal = AbortSignal.timeout(60_000)
      const text = 'Ich habe drei Ergebnisse in deinen Notizen gefunden.'
      const spoken = await speaker.speak({ text, voice: null, signal })
      const german = spawnSync('espeak-ng', ['--stdin', '--stdout', '-v', 'de'], { input: text })
      expect(spoken.ok && Buffer.from(spoken.recording.data).equals(german.stdout)).toBe(true)
      // Too short to tell: the language of the conversation.
      const short = await speaker.speak({ text: 'Ja.', voice: null, language: 'de-AT', signal })
      const yes = spawnSync('espeak-ng', ['--stdin', '--stdout', '-v', 'de'], { input: 'Ja.' })
      expect(short.ok && Buffer.from(short.recording.data).equals(yes.stdout)).toBe(true)
      const none = await speaker.speak({ text: 'Ok.', voice: null, language: 'tl', signal })
      expect(none).toMatchObject({ ok: false, reason: 'espeak-ng has no voice for Filipino. The text was not spoken.' })
    },
  )
})
