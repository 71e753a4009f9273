import { afterAll, beforeAll, expect, it } from 'vitest'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'
import { compare, createNormalizer, type Entry, readReply } from './recorder.ts'

/** Replies that need a whole daemon: the chat commands and the finder. */
const provider = (url: string) => `type = "openai-compatible"
base_url = "${url}/v1"
api_key_env = "FAKE_KEY"
[models.main]
model = "main"
cost_per_mtok = [3.0, 15.0]
`
let fake: FakeModel
let familiar: RunningFamiliar
beforeAll(async () => {
  fake = await startFakeModel()
  familiar = await startFamiliar({ toml: '[routes]\nprimary = "fake/main"\n', providers: { fake: provider(fake.url) } })
})
afterAll(async () => {
  await familiar.close()
  await fake.close()
})

it('HTTP-1 CMD-1 commands and finder are as they were recorded', async () => {
  const normal = createNormalizer({ home: familiar.home }, { times: true })
  const entries: Entry[] = []
  const asked: [method: string, path: string, body?: object][] = [
    ['GET', '/commands'],
    ['GET', '/commands/complete?line=/mem'],
    ['GET', '/commands/complete?line=/memory%20&session=nowhere'],
    ['GET', '/commands/complete'],
    ['POST', '/commands', { line: '/status' }],
    ['POST', '/commands', { line: '/reset all' }],
    ['POST', '/commands', { line: '/nothing' }],
    ['POST', '/commands', { line: '', goesOnIn: 'main' }],
    ['GET', '/finder?query=soul'],
    ['GET', '/finder?kind=block'],
    ['GET', '/finder?kind=folder'],
  ]
  for (const [method, path, body] of asked) {
    const response = await familiar.request(method, `/api/v1${path}`, body)
    const reply = readReply(await response.text(), response.headers.get('content-type') ?? '')
    entries.push({
      ask: `${method} ${path}`,
      ...(body && { body }),
      status: response.status,
      reply: normal.value(reply),
    })
  }
  compare('commands', entries)
  const { paths } = (await (await familiar.request('GET', '/api/v1/openapi.json')).json()) as { paths: object }
  expect(Object.keys(paths).filter((path) => /commands|finder/.test(path))).toEqual([
    '/api/v1/commands',
    '/api/v1/commands/complete',
    '/api/v1/finder',
  ])
})
