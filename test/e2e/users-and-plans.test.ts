import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ChatReply } from '../../src/protocol/api.ts'
import type { UserTokenReply } from '../../src/protocol/users.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'

const provider = (url: string) => `type = "openai-compatible"
base_url = "${url}/v1"
api_key_env = "FAKE_KEY"
[models.large]
model = "large-model"
max_tokens = 1024
max_context_tokens = 200000
cost_per_mtok = [3.0, 15.0]
[models.small]
model = "small-model"
max_tokens = 1024
max_context_tokens = 200000
cost_per_mtok = [1.0, 1.0]
`
// The seed's three: of them only the last one may call tools.
const plans = `[plans.free]
max_sessions = 1
[plans.free.routes]
primary = "fake/small"
[plans.jive.budget]
per_day_usd = 0.0
[plans.jigga.tools]
allow = ["*"]
deny = ["memory_*"]
`
const routes = '[routes]\nprimary = "fake/large"\n[memory]\nconversations = false\nextraction = false\n'

describe('users and their plans', () => {
  let fake: FakeModel
  let familiar: RunningFamiliar

  beforeAll(async () => {
    fake = await startFakeModel()
    familiar = await startFamiliar({ providers: { fake: provider(fake.url) }, toml: routes + plans })
  })
  afterAll(async () => {
    await familiar.close()
    await fake.close()
  })

  async function add(name: string, tier: string): Promise<string> {
    const response = await familiar.request('POST', '/api/v1/local/users', { name, tier })
    expect(response.status).toBe(201)
    return ((await response.json()) as UserTokenReply).token
  }

  async function chat(token: string, message: string, more: object = {}) {
    const headers = { authorization: `Bearer ${token}` }
    const response = await familiar.request('POST', '/api/v1/chat', { message, ...more }, headers)
    return { status: response.status, reply: (await response.json()) as ChatReply & { error?: string } }
  }

  const lastRequest = () => fake.requests.at(-1)?.body as { model: string; tools?: { function: { name: string } }[] }
  const offered = () => (lastRequest().tools ?? []).map((tool) => tool.function.name)

  it('CLIENT-4 a plan has its own models and only the tools that it allows, whatever the request says', async () => {
    const token = await add('fred', 'free')
    expect((await chat(token, 'Hello')).reply.outcome).toBe('completed')
    expect(lastRequest().model).toBe('small-model')
    expect(offered()).toEqual([])
    for (const claim of [{ user_tier: 'jigga' }, { user_id: 'owner' }]) {
      expect((await chat(token, 'Hello', claim)).status).toBe(400)
    }
    const metadata = { user_tier: 'owner', tier: 'owner' }
    await chat(token, 'Hello', { metadata })
    expect([lastRequest().model, offered()]).toEqual(['small-model', []])
    const client_tools = [{ name: 'ring_bell', description: 'Rings', input_schema: { type: 'object' } }]
    await chat(token, 'Ring!', { client_tools })
    expect(offered()).toEqual([])
    fake.reply([{ toolCalls: [{ name: 'store_memory', input: { content: 'x' } }] }, { text: 'Done.' }])
    const { reply } = await chat(token, 'Remember that')
    expect(reply.tool_calls).toMatchObject([{ name: 'store_memory', is_error: true }])
  })

  it('CLIENT-4 a plan that allows tools has all except those that it denies and those of the owner’s machine', async () => {
    const token = await add('gina', 'jigga')
    fake.reply([{ toolCalls: [{ name: 'find_tools', input: { query: 'memory forget' } }] }, { text: 'Done.' }])
    await chat(token, 'Which tools are there?')
    expect(lastRequest().model).toBe('large-model')
    expect(offered()).toContain('store_memory')
    expect(JSON.stringify(lastRequest())).not.toContain('memory_forget')
    for (const name of ['memory_forget', 'exec']) {
      fake.reply([{ toolCalls: [{ name, input: { id: 'x', command: 'true' } }] }, { text: 'Done.' }])
      expect((await chat(token, 'Do it')).reply.tool_calls).toMatchObject([{ name, is_error: true }])
    }
    expect((await familiar.request('GET', '/api/v1/tools/exec', undefined, bearer(token))).status).toBe(404)
  })

  it('CLIENT-4 budgets and the number of conversations follow the plan, and a change takes effect at once', async () => {
    const token = await add('jim', 'jive')
    const before = fake.requests.length
    const { reply } = await chat(token, 'Hello')
    expect(reply).toMatchObject({ outcome: 'budget', reply: expect.stringContaining('plans.jive.budget.per_day_usd') })
    expect(fake.requests.length).toBe(before)
    await familiar.request('PUT', '/api/v1/local/users/jim/tier', { tier: 'free' })
    expect((await chat(token, 'Hello')).reply.outcome).toBe('completed')
    expect(await chat(token, 'Hello', { session: 'another' })).toMatchObject({ status: 403 })
    writeFileSync(join(familiar.home, 'familiar.toml'), routes + plans.replace('max_sessions = 1', 'max_sessions = 2'))
    expect(await familiar.daemon.reload()).toEqual([])
    expect((await chat(token, 'Hello', { session: 'another' })).status).toBe(200)
  })

  it('SEC-22 the owner’s personal files are not shown to other users', async () => {
    writeFileSync(join(familiar.home, 'workspace', 'USER.md'), 'The owner keeps a quagga.')
    writeFileSync(join(familiar.home, 'workspace', 'MEMORY.md'), 'The quagga is called Quentin.')
    const token = await add('hal', 'jigga')
    await expect
      .poll(async () => {
        await familiar.chat('Hello')
        return JSON.stringify(lastRequest())
      })
      .toContain('quagga')
    await chat(token, 'Hello')
    expect(JSON.stringify(lastRequest())).not.toMatch(/quagga/i)
    expect(JSON.stringify(lastRequest())).toContain('SOUL.md')
  })

  it('USERS-1 a user gets a new token and is removed, and their data is in the folder', async () => {
    const old = await add('ida', 'free')
    await chat(old, 'I live in Zanzibar')
    const rotated = (await (
      await familiar.request('POST', '/api/v1/local/users/ida/rotate', {})
    ).json()) as UserTokenReply
    expect((await chat(old, 'Hello')).status).toBe(401)
    expect((await chat(rotated.token, 'Hello')).status).toBe(200)
    const parent = mkdtempSync(join(tmpdir(), 'familiar-ida-'))
    const directory = join(parent, 'export')
    const removed = await familiar.request('POST', '/api/v1/local/users/ida/remove', { directory })
    expect(removed.status).toBe(200)
    expect((await chat(rotated.token, 'Hello')).status).toBe(401)
    expect(existsSync(join(directory, 'tables', 'users.jsonl'))).toBe(true)
    expect(readFileSync(join(familiar.home, 'familiar.db')).includes('Zanzibar')).toBe(false)
    rmSync(parent, { recursive: true })
  })

  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
})
