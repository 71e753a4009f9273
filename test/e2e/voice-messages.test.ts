import { afterEach, expect, it } from 'vitest'
import { findProgram } from '../../src/base/processes.ts'
import { readOgg } from '../../src/models/speech/recordings.ts'
import { type FakeTranscription, startFakeTranscription } from '../page/support/fake-transcription.ts'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { startFakeTelegram } from '../support/fake-telegram/start-fake-telegram.ts'
import { makeSyllablesWav, makeToneWav } from '../support/made-sound.ts'
import { startFamiliar } from '../support/running-familiar.ts'
import { voiceNote } from '../support/voice-note.ts'
import { openOpenAiScene } from './openai-client-support.ts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const hasEspeak = (await findProgram(['espeak-ng'], process.env.PATH ?? '')) !== undefined
const voice = makeSyllablesWav()
const base64 = (data: Uint8Array) => Buffer.from(data).toString('base64')

async function hears(...texts: string[]): Promise<FakeTranscription> {
  const transcription = await startFakeTranscription(texts)
  closers.push(transcription.close)
  return transcription
}

it('VOICE-5 VOICE-4 audio of HTTP and OpenAI clients is transcribed for the model, and noise is not', async () => {
  const transcription = await hears('Call the dentist.', 'Buy some milk.')
  const scene = await openOpenAiScene({ toml: transcription.toml })
  closers.push(scene.close)
  scene.fake.reply({ text: 'heard' })
  const reply = await scene.familiar.chat('What is this?', {
    attachments: [
      { name: 'memo.wav', media_type: 'audio/x-wav', data: base64(voice) },
      { name: 'unnamed', media_type: 'application/octet-stream', data: base64(voice) },
      { name: 'hum.wav', media_type: 'audio/wav', data: base64(makeToneWav(3)) },
    ],
  })
  expect(scene.lastAsked()).toContain('Call the dentist.')
  expect(scene.lastAsked()).toContain('Buy some milk.')
  expect(scene.lastAsked()).not.toContain('Not shown')
  expect(scene.lastAsked()).toContain('It contains no speech.')
  expect(reply.attachments?.map(({ note }) => note)).toEqual([
    'Transcribed by whisper-of-the-test.',
    'Transcribed by whisper-of-the-test.',
    'hum.wav contains no speech.',
  ])
  expect(transcription.recordings).toHaveLength(2)

  scene.fake.reply({ text: 'heard' })
  await scene.client.chat.completions.create({
    model: 'familiar',
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'And this?' },
          { type: 'input_audio', input_audio: { data: base64(voice), format: 'wav' } },
        ],
      },
    ],
  })
  expect(scene.lastAsked()).toContain('Buy some milk.')
  expect(scene.lastAsked()).not.toContain('Not shown')
  expect(transcription.recordings).toHaveLength(3)
})

const owner = 1001

it.skipIf(!hasEspeak)(
  'VOICE-5 VOICE-7 Telegram: audio is transcribed, and a voice message gets one back (needs espeak-ng)',
  async () => {
    const transcription = await hears('What time is it?', 'The song of the lark.')
    const fake = await startFakeModel()
    closers.push(fake.close)
    const telegram = await startFakeTelegram()
    closers.push(telegram.close)
    const familiar = await startFamiliar({
      toml: [
        '[memory]\nextraction = false',
        `[telegram]\nallowed_ids = [${owner}]\napi_root = "${telegram.apiRoot}"`,
        transcription.toml,
      ].join('\n'),
      providers: {
        fake: `type = "openai-compatible"\nbase_url = "${fake.url}/v1"\napi_key_env = "FAKE_KEY"\n[models.main]\nmodel = "fake-model"\n`,
      },
      env: { TELEGRAM_BOT_TOKEN: telegram.token },
    })
    closers.push(() => familiar.close())
    const sentVoices = () => telegram.calls.filter(({ method }) => method === 'sendVoice')
    const lastAsked = () => fake.requests.at(-1)?.bytes ?? ''

    fake.reply({ text: 'It is **ten**. See https://example.org/clock\n\n```\nclock\n```' })
    telegram.addFile('note', voiceNote)
    telegram.say(owner, '', { voice: { file_id: 'note', file_size: voiceNote.length, duration: 1 } })
    await telegram.until(() => sentVoices().length === 1)
    expect(lastAsked()).toContain('What time is it?')
    expect(lastAsked()).not.toContain('Not shown')
    expect(telegram.chat(owner)[0]?.text).toContain('It is ten.')
    const [note] = Object.values(sentVoices()[0]?.files ?? {})
    expect(note).toMatchObject({ mediaType: 'audio/ogg' })
    const packets = readOgg(note?.data ?? new Uint8Array())?.packets ?? []
    expect(Buffer.from(packets[0] ?? []).toString('latin1')).toMatch(/^OpusHead/)
    // Some seconds of speech, in pieces of a fiftieth.
    expect(packets.length).toBeGreaterThan(30)

    fake.reply({ text: 'A bird.' })
    telegram.addFile('song', voice)
    const song = {
      file_id: 'song',
      file_name: 'song.wav',
      mime_type: 'audio/wav',
      file_size: voice.length,
      duration: 1,
    }
    telegram.say(owner, 'What is it?', { audio: song })
    await telegram.until(() => telegram.chat(owner).some(({ text }) => text === 'A bird.'))
    expect(lastAsked()).toContain('The song of the lark.')
    // It was not a message that the user spoke.
    expect(sentVoices()).toHaveLength(1)
  },
)
