import { createHmac } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { type FakeTelegram, startFakeTelegram } from '../support/fake-telegram/start-fake-telegram.ts'
import { type LocalSite, openLocalSite } from '../support/local-site.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'

const owner = 7_001
let telegram: FakeTelegram
let site: LocalSite | undefined
let familiar: RunningFamiliar | undefined

afterEach(async () => {
  await familiar?.close()
  await telegram.close()
  await site?.close()
  site = undefined
})

const toml = (more = '') => `
[telegram]
api_root = "${telegram.apiRoot}"
allowed_ids = [${owner}]
${more}`

const start = (home?: string, more?: string) =>
  startFamiliar({
    ...(home && { home }),
    toml: toml(more),
    env: { TELEGRAM_BOT_TOKEN: telegram.token, CALLBACK_SECRET: 'a secret of some length' },
  })

const textsTo = (chat: number) => telegram.chat(chat).map(({ text }) => text)

it('CHAN-1 OUT-2 a whole daemon talks over Telegram, pairs, and continues after a restart', async () => {
  telegram = await startFakeTelegram({})
  familiar = await start()
  telegram.say(owner, 'Remember that the spare key is with Ruth')
  await telegram.until(() => textsTo(owner).some((text) => text?.includes('Noted')))

  // Another member of the household pairs with a code, and has her own memory.
  const { home, daemon } = familiar
  const local = { authorization: `Bearer ${daemon.credential}` }
  await familiar.request('POST', '/api/v1/local/users', { name: 'anna' }, local)
  const made = await familiar.request('POST', '/api/v1/local/telegram/codes', { user: 'anna' }, local)
  const { code } = (await made.json()) as { code: string }
  telegram.say(7_002, `/pair ${code}`)
  await telegram.until(() => textsTo(7_002).length > 0)
  telegram.say(7_002, 'Where is the spare key?')
  await telegram.until(() => textsTo(7_002).length > 1)
  expect(textsTo(7_002).join('\n')).not.toContain('Ruth')

  // A message sent while the daemon is down is answered by the next one; no reply is sent twice.
  await familiar.close({ keep: true })
  const before = textsTo(owner).length
  telegram.say(owner, 'Where is the spare key?')
  telegram.replay()
  familiar = await start(home)
  await telegram.until(() => textsTo(owner).slice(before).join('\n').includes('Ruth'))
  expect(textsTo(owner).filter((text) => text?.includes('Noted'))).toHaveLength(1)

  const outbox = (await (await familiar.request('GET', '/api/v1/outbox')).json()) as { counts: Record<string, number> }
  expect(outbox.counts).toMatchObject({ pending: 0, sending: 0, unknown: 0, failed: 0 })
})

it('OUT-4 a program is called after every message, and can verify the caller', async () => {
  telegram = await startFakeTelegram({})
  site = await openLocalSite((_request, response) => response.end())
  familiar = await start(undefined, `[callback]\nurl = "${site.origin}/heard"\nsecret_env = "CALLBACK_SECRET"\n`)
  await familiar.chat('Remember that I like chess')
  await expect.poll(() => site?.requests.length, { timeout: 10_000 }).toBe(1)
  const { headers = {}, body = '' } = site.requests[0] ?? {}
  const signed = `${headers['x-familiar-timestamp']}.${headers['x-familiar-nonce']}.${body}`
  const signature = createHmac('sha256', 'a secret of some length').update(signed).digest('hex')
  expect(headers['x-familiar-signature']).toBe(signature)
  expect(JSON.parse(body)).toMatchObject({ event: 'message_processed', channel: 'http', outcome: 'completed' })
})

it('OUT-1 a message of a turn from elsewhere reaches the chat, and the model learns the outcome', async () => {
  telegram = await startFakeTelegram({})
  const fake = await startFakeModel()
  const provider = `type = "openai-compatible"\nbase_url = "${fake.url}/v1"\napi_key_env = "FAKE_KEY"\n[models.one]\nmodel = "one"\n`
  familiar = await startFamiliar({
    toml: `[routes]\nprimary = "fake/one"\n${toml()}`,
    providers: { fake: provider },
    env: { TELEGRAM_BOT_TOKEN: telegram.token },
  })
  fake.reply([{ toolCalls: [{ name: 'message', input: { text: 'The oven is on.' } }] }, { text: 'Done.' }])
  await familiar.chat('Tell me when the oven is on')
  expect(textsTo(owner)).toEqual(['The oven is on.'])
  expect(fake.requests.at(-1)?.bytes).toContain('Sent to the user on telegram')
  await fake.close()
})

it('SUB-3 a scheduled run that needs an approval asks in the chat, and continues after the button', async () => {
  telegram = await startFakeTelegram({})
  const fake = await startFakeModel()
  const provider = `type = "openai-compatible"\nbase_url = "${fake.url}/v1"\napi_key_env = "FAKE_KEY"\n[models.one]\nmodel = "one"\n`
  familiar = await startFamiliar({
    toml: `[routes]\nprimary = "fake/one"\n${toml()}`,
    providers: { fake: provider },
    env: { TELEGRAM_BOT_TOKEN: telegram.token },
  })
  const backUp = { toolCalls: [{ name: 'exec', input: { command: 'echo saved > backup.txt', host: true } }] }
  fake.reply([backUp, backUp, { text: 'The backup is done.' }])
  telegram.say(owner, '/help')
  await telegram.until(() => textsTo(owner).length > 0)
  const planned = { message: 'Back up my notes', at: '2099-01-01T09:00', session: 'night', name: 'backup' }
  const made = await familiar.request('POST', '/api/v1/schedules', planned)
  const { id } = (await made.json()) as { id: string }
  await familiar.request('POST', `/api/v1/schedules/${id}/run`, {})
  await telegram.until(() => textsTo(owner).some((text) => text?.startsWith('Let exec run on this computer')))
  const asked = telegram.chat(owner).find(({ text }) => text?.startsWith('Let exec'))
  expect(existsSync(join(familiar.home, 'workspace', 'backup.txt'))).toBe(false)
  telegram.press(owner, asked?.buttons.find(({ text }) => text === 'Allow once')?.data ?? '')
  const backup = join(familiar.home, 'workspace', 'backup.txt')
  await expect.poll(() => existsSync(backup), { timeout: 10_000 }).toBe(true)
  await fake.close()
})
