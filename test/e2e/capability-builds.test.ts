import { afterEach, describe, expect, it } from 'vitest'
import type { BuildReply } from '../../src/protocol/custom-tools.ts'
import type { ModelRequest } from '../support/fake-model/recorded-request.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import type { Step } from '../support/fake-model/step.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'
import { isBuilder } from '../support/weather-build.ts'

const minute = 60_000

let fake: FakeModel
let familiar: RunningFamiliar
afterEach(async () => {
  await familiar.close()
  await fake.close()
})

async function start(toml = ''): Promise<void> {
  fake = await startFakeModel()
  fake.respondWith((request) => (isBuilder(request) ? respondAsBuilder(request) : respondAsSpeaker(request)))
  familiar = await startFamiliar({
    env: { FAMILIAR_SANDBOX: 'embedded' },
    toml: `${toml}\n[memory]\nconversations = false\nextraction = false\n`,
    providers: {
      fake: `type = "openai-compatible"\nbase_url = "${fake.url}/v1"\napi_key_env = "FAKE_KEY"\n[models.main]\nmodel = "fake-model"\nmax_tokens = 1000\ncost_per_mtok = [1.0, 1.0, 1.0, 1.0]\n`,
    },
  })
}

/** Asks for a capability of every name that the message brings, all at once. */
function respondAsSpeaker({ messages, lastUserText }: ModelRequest): Step {
  const asked = messages.findLastIndex(({ role, text }) => role === 'user' && text !== '')
  if (messages.slice(asked + 1).some(({ role }) => role === 'assistant')) return { text: 'They are being built.' }
  const names = [...lastUserText.matchAll(/\w+_tool/g)].map(([name]) => name)
  const toolCalls = names.map((name) => ({
    name: 'request_capability',
    input: { name, description: `Says ${name}.`, distinct: true },
  }))
  return { toolCalls }
}

/** The build named waiting asks a question first, which is never answered. */
function respondAsBuilder({ messages }: ModelRequest): Step {
  const name = /\w+_tool/.exec(messages.map(({ text }) => text).join('\n'))?.[0] ?? ''
  const spoken = messages.filter(({ role }) => role === 'assistant').length
  const waits: Step = { toolCalls: [{ name: 'ask_user', input: { question: 'Which one?' } }] }
  if (name === 'waiting_tool') return spoken === 0 ? waits : { text: 'I give up.' }
  const manifest = { name, description: `Says ${name}.`, input_schema: { type: 'object' } }
  const files = {
    'manifest.json': JSON.stringify(manifest),
    'main.py': `def run(args):\n    return "${name}"\n`,
    'examples.json': JSON.stringify([{ input: {}, expect: { equals: name } }]),
  }
  const writes = Object.entries(files).map(([path, content]) => ({ name: 'write_file', input: { path, content } }))
  const steps: Step[] = [{ toolCalls: writes }, { toolCalls: [{ name: 'register_capability', input: {} }] }]
  return steps[spoken] ?? { text: 'Done.' }
}

async function builds(): Promise<BuildReply[]> {
  const response = await familiar.request('GET', '/api/v1/builds')
  return ((await response.json()) as { builds: BuildReply[] }).builds
}

const stateOf = async (name: string) => (await builds()).find((build) => build.name === name)?.state

describe('several builds', () => {
  it(
    'CAP-3 run side by side, and one is stopped without the others',
    async () => {
      await start()
      await familiar.chat('Build one_tool, two_tool and waiting_tool.')
      await expect.poll(() => stateOf('one_tool'), { timeout: minute }).toBe('complete')
      await expect.poll(() => stateOf('two_tool'), { timeout: minute }).toBe('complete')
      const waiting = (await builds()).find(({ name }) => name === 'waiting_tool')
      // It has asked the user a question and stays open until it is answered or stopped.
      await expect.poll(() => stateOf('waiting_tool'), { timeout: minute }).toBe('waiting')
      const stopped = await familiar.request('POST', `/api/v1/builds/${waiting?.id}/stop`, {})
      expect(stopped.status).toBe(200)
      await expect.poll(() => stateOf('waiting_tool'), { timeout: minute }).toBe('stopped')
      const response = await familiar.request('GET', '/api/v1/capabilities')
      const { capabilities } = (await response.json()) as { capabilities: { name: string; state: string }[] }
      expect(capabilities.map(({ name, state }) => [name, state])).toEqual([
        ['one_tool', 'active'],
        ['two_tool', 'active'],
        ['waiting_tool', 'failed'],
      ])
    },
    2 * minute,
  )

  it(
    'CAP-3 COST-2 end at the build budget with a clear reason, while the conversation has its own',
    async () => {
      // A call may take a thousand tokens at a dollar a million: the first fits, what it has used and the next do not.
      await start('[budget]\nper_build_usd = 0.003\n')
      const { outcome } = await familiar.chat('Build one_tool.')
      expect(outcome).toBe('completed')
      await expect.poll(() => stateOf('one_tool'), { timeout: minute }).toBe('failed')
      const [build] = await builds()
      expect(build?.error).toMatch(/budget\.per_build_usd/)
      expect((await familiar.chat('Hello')).outcome).toBe('completed')
    },
    2 * minute,
  )
})
