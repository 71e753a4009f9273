import { afterEach, expect, it } from 'vitest'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { askingServer } from '../support/mcp/mcp-scene.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'
import { cleanUp, familiar as runCommand } from './cli-process.ts'

let fake: FakeModel | undefined
let familiar: RunningFamiliar | undefined
afterEach(async () => {
  await familiar?.close()
  await fake?.close()
  await cleanUp()
})

/** A whole daemon with one MCP server that asks, and a model that the test speaks for. */
async function start(more = ''): Promise<{ fake: FakeModel; familiar: RunningFamiliar }> {
  fake = await startFakeModel()
  const { command, args } = askingServer()
  const provider = [
    'type = "openai-compatible"',
    `base_url = "${fake.url}/v1"`,
    'api_key_env = "FAKE_KEY"',
    '[models.one]',
    'model = "one"',
    'cost_per_mtok = [3.0, 15.0, 0.3, 3.75]',
  ]
  const server = [`command = ${JSON.stringify(command)}`, `args = ${JSON.stringify(args)}`, more]
  familiar = await startFamiliar({
    toml: `[routes]\nprimary = "fake/one"\nfast = "fake/one"\n[memory]\nextraction = false\n[mcp.servers.desk]\n${server.join('\n')}\n`,
    providers: { fake: provider.join('\n') },
  })
  const approved = await runCommand(['mcp', 'approve', 'desk', '--yes'], { home: familiar.home })
  expect(approved).toMatchObject({ code: 0 })
  return { fake, familiar }
}

const call = (name: string) => ({ toolCalls: [{ name, input: {} }] })

it('TOOL-12c a question of a server reaches the user, and the answer the server', async () => {
  const { fake, familiar } = await start()
  fake.reply([call('mcp_desk_plain'), { text: 'It answers.' }])
  await familiar.chat('Is the desk there?')
  // SEC-6: the conversation now holds text from outside, but the owner approved this server.
  fake.reply([call('mcp_desk_book')])
  const asked = await familiar.chat('Book a room')
  expect(asked).toMatchObject({ outcome: 'question', reply: expect.stringContaining('The MCP server desk asks:') })
  fake.reply([call('mcp_desk_book'), { text: 'It is booked.' }])
  expect(await familiar.chat('Monday')).toMatchObject({ outcome: 'completed', reply: 'It is booked.' })
  const sent = JSON.stringify(fake.requests.at(-1))
  expect(sent).toContain('Monday')
  expect(sent).toMatch(/accept/)
})

it('COST-2a a sample of a server is paid from the budget of the user and appears in the costs', async () => {
  const { fake, familiar } = await start('sampling = true')
  fake.reply([call('mcp_desk_write'), { text: 'Roses are red.' }, { text: 'Here is a poem.' }])
  expect(await familiar.chat('A poem please')).toMatchObject({ reply: 'Here is a poem.' })
  const sample = JSON.stringify(fake.requests.at(-2))
  expect(sample).toContain('Write a poem.')
  // Neither tools nor anything of the conversation.
  expect(sample).not.toContain('A poem please')
  expect(sample).not.toContain('find_tools')
  // The prompt of the server is part of no conversation, and so of no memory.
  expect(JSON.stringify(fake.requests.at(-1))).not.toContain('Write a poem.')
  const cost = await (await familiar.request('GET', '/api/v1/cost')).json()
  expect(cost).toMatchObject({ calls: 3, unpriced_calls: 0 })
})
