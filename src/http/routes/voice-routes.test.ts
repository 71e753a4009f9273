import { spawnSync } from 'node:child_process'
import OpenAI, { toFile } from 'openai'
import { afterEach, describe, expect, it } from 'vitest'
import { type ServedFamiliar, serveFamiliar } from '../../../test/security/http-support.ts'
import { type LocalSite, openLocalSite } from '../../../test/support/local-site.ts'
import { makeToneWav } from '../../../test/support/made-sound.ts'
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

const wav = Buffer.from(makeToneWav(0.1)).toString('latin1')
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

  it('CHAN-4 writes down a recording, and tells a service that fails', async () => {
    let status = 200
    site = await openLocalSite((_request, response) => response.writeHead(status).end('{"text":"Good morning."}'))
    const transcription = { provider: 'openai-compatible' as const, baseUrl: site.origin, model: 'ears' }
    served = await serveFamiliar({ voice: createServedVoice({ transcription }) })
    expect(await served.call(recording)).toMatchObject({
      status: 200,
      json: { text: 'Good morning.', by: 'ears', seconds: null },
    })
    status = 500
    expect(await served.call(recording)).toMatchObject({ status: 502, json: { code: 'provider_error' } })
  })

  it('HTTP-5b writes down and speaks for a client of OpenAI, by the services that are set up', async () => {
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
    const file = () => toFile(makeToneWav(0.1), 'said.wav', { type: 'audio/wav' })
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
  })
})
