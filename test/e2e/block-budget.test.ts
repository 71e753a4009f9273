import { afterEach, beforeEach, expect, it } from 'vitest'
import { startFakeModel } from '../support/fake-model/start-fake-model.ts'
import type { Step } from '../support/fake-model/step.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'

const minute = 60_000
const garden = 'familiar:///blocks/garden.md'
const house = 'familiar:///blocks/house.md'
const tea = (tokens: number) => 'tea '.repeat(tokens)

let fake: Awaited<ReturnType<typeof startFakeModel>>
let familiar: RunningFamiliar

beforeEach(async () => {
  fake = await startFakeModel()
  familiar = await startFamiliar({
    toml: [
      '[routes]\nprimary = "fake/first"',
      '[assets]\nblock_budget_tokens = 1000',
      '[memory]\nconversations = false\nextraction = false\n',
    ].join('\n'),
    providers: {
      fake: `type = "openai-compatible"\nbase_url = "${fake.url}/v1"\napi_key_env = "FAKE_KEY"\n[models.first]\nmodel = "first"\n`,
    },
  })
  for (const [name, tokens] of [
    ['garden', 700],
    ['house', 200],
  ] as const) {
    const written = await familiar.request('PUT', `/api/v1/blocks/${name}.md`, { content: tea(tokens) })
    expect(written.ok).toBe(true)
    const pinned = await familiar.request('POST', '/api/v1/pins', { label: name })
    expect(pinned.ok).toBe(true)
  }
}, minute)
afterEach(async () => {
  await familiar.close()
  await fake.close()
})

const calling = (name: string, input: Record<string, string>): Step => ({ text: '', toolCalls: [{ name, input }] })

async function blockText(name: string): Promise<string> {
  const reply = await familiar.request('GET', `/api/v1/blocks/${name}.md`)
  return ((await reply.json()) as { text?: string }).text ?? ''
}

it(
  "ASSET-8 the agent makes room in a full budget by itself, and the user's text can be restored",
  async () => {
    const longer = { path: house, content: tea(500) }
    fake.reply([
      calling('file_write', longer),
      calling('file_write', { path: garden, content: tea(400) }),
      calling('file_write', longer),
      { text: 'It is written; I shortened garden.md.' },
    ])
    const reply = await familiar.chat('Add the new rules to the house block.')
    expect(reply.reply).toContain('I shortened garden.md')
    const [asked, refused, shortened, written] = fake.requests.map(({ bytes }) => bytes)
    expect(asked).toContain('may have 1,000 tokens together')
    expect(refused).toContain('would use 1,200 of 1,000 tokens. Free at least 200 tokens')
    expect(refused).toContain('garden.md (700, edited by hand), house.md (200, edited by hand)')
    // The command for unpinning is offered from now on.
    expect(asked).not.toContain('"name":"slash_command"')
    expect(refused).toContain('"name":"slash_command"')
    expect(shortened).toContain("700 → 400 tokens; pinned blocks use 600 of 1,000. The user's own text is version 1.")
    expect(written).toContain('200 → 500 tokens; pinned blocks use 900 of 1,000.')

    // The old text of one block fits again when the other one has its old text, too.
    for (const name of ['house', 'garden']) {
      const undone = await familiar.request('POST', `/api/v1/blocks/${name}.md/undo`, {})
      expect(undone.status).toBe(200)
    }
    expect(await blockText('garden')).toBe(tea(700))
    expect(await blockText('house')).toBe(tea(200))
  },
  2 * minute,
)

it(
  'ASSET-8 the agent can unpin a block, and pin another one in its place',
  async () => {
    await familiar.request('PUT', '/api/v1/blocks/tools.md', { content: tea(90) })
    await familiar.request('PUT', '/api/v1/blocks/plants.md', { content: tea(100) })
    await familiar.request('POST', '/api/v1/pins', { label: 'tools' })
    fake.reply([
      calling('find_tools', { query: 'slash_command' }),
      calling('slash_command', { command: '/pin plants' }),
      calling('slash_command', { command: '/unpin tools' }),
      calling('slash_command', { command: '/pin plants' }),
      { text: 'Pinned.' },
    ])
    const reply = await familiar.chat('Pin the plants block.')
    expect(reply.reply).toBe('Pinned.')
    const pins = await familiar.request('GET', '/api/v1/pins')
    expect(await pins.json()).toMatchObject({
      pins: [{ label: 'garden.md' }, { label: 'house.md' }, { label: 'plants.md' }],
      tokens: 1_000,
    })
  },
  2 * minute,
)

it(
  'ASSET-8 an agent that tries again and again is stopped, and may try again with the next message',
  async () => {
    let calls = 0
    const stubborn = (): Step => {
      calls += 1
      return calls <= 8 ? calling('file_write', { path: house, content: tea(500 + calls) }) : { text: 'I give up.' }
    }
    fake.respondWith(stubborn)
    await familiar.chat('Write it.')
    const results = fake.requests.slice(1).map(({ bytes }) => bytes)
    expect(results[3]).toContain('Attempts left in this turn: 1.')
    expect(results[4]).toContain('Blocks cannot be changed any more in this turn')
    // Even what would fit is not tried any more.
    calls = 7
    fake.respondWith(() => {
      calls += 1
      return calls === 8 ? calling('file_write', { path: house, content: tea(250) }) : { text: 'Written.' }
    })
    await familiar.chat('Write less of it.')
    expect(await blockText('house')).toBe(tea(250))
  },
  2 * minute,
)
