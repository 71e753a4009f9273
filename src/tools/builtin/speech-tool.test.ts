import { spawnSync } from 'node:child_process'
import { chmod, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createKeptMedia } from '../../../test/support/kept-media.ts'
import { type Answer, type LocalSite, openLocalSite } from '../../../test/support/local-site.ts'
import { createServedVoice } from '../../../test/support/served-voice.ts'
import { toolContext } from '../../../test/support/tool-context.ts'
import { speechDestination } from '../../models/speech/speaker.ts'
import type { SpeechSettings } from '../../models/speech/speech.ts'
import { createSpeechTool } from './outside-tools.ts'

const hasVoice = spawnSync('espeak-ng', ['--version']).status === 0
let site: LocalSite | undefined
afterEach(async () => {
  await site?.close()
  site = undefined
})

function speaking(settings: SpeechSettings, given: { searchPath?: string; elevenLabs?: string } = {}) {
  const media = createKeptMedia()
  const { speaker } = createServedVoice({ speech: settings, ...given })
  const tool = createSpeechTool({ speaker, putMedia: media.putMedia })
  return { tool, ...media }
}

const system: SpeechSettings = { provider: 'system', apiKey: null, voice: null }
const service: SpeechSettings = { provider: 'elevenlabs', apiKey: 'the-key', voice: 'some voice' }

describe('tts by the system’s voice', () => {
  it.skipIf(!hasVoice)('makes a recording of the text (needs espeak-ng)', async () => {
    const { tool, files } = speaking(system)
    const outcome = await tool.run({ text: '--help; $(id)' }, toolContext())
    expect(outcome).toMatchObject({ isError: false, media: [{ mediaType: 'audio/wav', name: 'speech.wav' }] })
    const [recording = new Uint8Array()] = files.values()
    expect(Buffer.from(recording.subarray(0, 4)).toString()).toBe('RIFF')
    expect(recording.length).toBeGreaterThan(10_000)
  })

  it.skipIf(!hasVoice)('reports an unknown voice (needs espeak-ng)', async () => {
    const { tool } = speaking({ ...system, voice: 'zzz' })
    expect(await tool.run({ text: 'hello' }, toolContext())).toMatchObject({
      isError: true,
      text: expect.stringContaining('zzz'),
    })
  })

  it('reads the audio of a program that only writes to files', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'familiar-say-'))
    // It writes its input to the file after -o, like `say`.
    const script = '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\n{ printf RIFF; cat; } > "$2"\n'
    await writeFile(join(folder, 'say'), script)
    await chmod(join(folder, 'say'), 0o755)
    for (const name of ['mktemp', 'cat', 'rm']) await symlink(`/bin/${name}`, join(folder, name))
    const { tool, files } = speaking(system, { searchPath: folder })
    expect(await tool.run({ text: 'hello' }, toolContext())).toMatchObject({ isError: false })
    expect([...files.values()].map((data) => Buffer.from(data).toString())).toEqual(['RIFFhello'])
    await rm(folder, { recursive: true })
  })

  it('says how to get a voice if there is none', async () => {
    const { tool } = speaking(system, { searchPath: '/nowhere' })
    expect(await tool.run({ text: 'hello' }, toolContext())).toMatchObject({
      isError: true,
      text: expect.stringMatching(/no voice.*espeak-ng.*\[tools\.tts\]/s),
    })
  })

  it('CHAN-4 says how to get the local model if it is configured but missing', async () => {
    const { tool } = speaking({ ...system, provider: 'local' })
    expect(await tool.run({ text: 'hello' }, toolContext())).toMatchObject({
      isError: true,
      text: expect.stringContaining('familiar voice install --speech'),
    })
    expect(tool.reach({ text: 'a' })).toEqual({ kind: 'read', destination: null })
  })

  it('stays silent if speech is switched off', async () => {
    const { tool } = speaking({ ...system, provider: 'off' })
    expect(await tool.run({ text: 'hello' }, toolContext())).toMatchObject({ isError: true })
  })
})

describe('tts by ElevenLabs', () => {
  async function speak(answer: Answer, settings = service) {
    site = await openLocalSite(answer)
    const { tool, files } = speaking(settings, { elevenLabs: site.origin })
    return { outcome: await tool.run({ text: 'Good morning' }, toolContext()), files }
  }

  it('calls its API, and stores the audio', async () => {
    const { outcome, files } = await speak((_request, response) =>
      response.setHeader('content-type', 'audio/mpeg').end('ID3sound'),
    )
    expect(outcome).toMatchObject({
      isError: false,
      media: [{ mediaType: 'audio/mpeg', name: 'speech.mp3', bytes: 8 }],
    })
    expect([...files.values()].map((data) => Buffer.from(data).toString())).toEqual(['ID3sound'])
    expect(site?.requests).toMatchObject([
      {
        method: 'POST',
        url: '/v1/text-to-speech/some%20voice?output_format=mp3_44100_128',
        headers: { 'xi-api-key': 'the-key', 'content-type': 'application/json' },
        body: '{"text":"Good morning","model_id":"eleven_multilingual_v2"}',
      },
    ])
  })

  it.each([401, 404, 422, 429, 500])('explains a %d', async (status) => {
    const { outcome } = await speak((_request, response) =>
      response.writeHead(status).end('{"detail":{"status":"invalid_api_key","message":"FOREIGN WORDS"}}'),
    )
    expect(outcome).toMatchObject({ isError: true, serviceFailed: true, text: expect.stringContaining(String(status)) })
    expect(outcome.text).not.toContain('FOREIGN')
  })

  it('sends nothing without a key', async () => {
    const { outcome } = await speak((_request, response) => response.end(), { ...service, apiKey: null })
    expect(outcome).toMatchObject({ isError: true })
    expect(site?.connections()).toBe(0)
  })

  it('SEC-6 reports to policy that the text leaves the machine', () => {
    expect(speaking(service).tool.reach({ text: 'a' })).toEqual({
      kind: 'reach',
      destination: 'https://api.elevenlabs.io',
    })
    expect(speaking(system).tool.reach({ text: 'a' })).toEqual({ kind: 'read', destination: null })
    expect(speechDestination(service)).toBe('https://api.elevenlabs.io')
  })
})
