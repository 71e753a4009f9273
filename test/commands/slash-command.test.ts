import { afterEach, expect, it } from 'vitest'
import { createBlockRefusals } from '../../src/tools/builtin/file-tools.ts'
import { createSlashCommand } from '../../src/tools/builtin/message.ts'
import { type OpenCommands, openCommands } from '../support/open-commands.ts'
import { createScriptedModel, type ScriptedReply } from '../support/scripted-model.ts'
import { toolContext } from '../support/tool-context.ts'

let open: OpenCommands
afterEach(() => open.close())

/** A model that calls `slash_command` with its input, and then reports the result. */
async function begin() {
  const replies: ScriptedReply[] = []
  const model = createScriptedModel({ script: () => replies.shift() ?? { text: 'Done.' } })
  open = await openCommands({ model })
  const tool = createSlashCommand({ commands: open.commands, refusals: createBlockRefusals() })
  open.tools.add(tool)
  await open.talk('Hello.')
  const noted = await open.run('/remember The neighbour is called Tom.')
  const id = /memory:([\w-]+)/.exec(noted.text)?.[1] ?? ''
  return {
    id,
    tool,
    isKnown: async () => (await open.memory.memories.get(open.userId, id)) !== undefined,
    /** The user says something, and the model makes of it a call of that command. */
    async say(text: string, command: string) {
      replies.push({ toolCalls: [{ name: 'slash_command', input: { command } }] })
      return open.talk(text)
    },
    run: (command: string, given: Parameters<typeof toolContext>[0] = {}) =>
      tool.run(
        { command },
        toolContext({ userId: open.userId, sessionId: open.sessionId() ?? '', userText: 'Do it.', ...given }),
      ),
  }
}

it("ASSET-5 the agent forgets only after the user's confirmation", async () => {
  const { id, say, isKnown } = await begin()
  const asked = await say('Who is Tom? Forget him.', `/forget ${id}`)
  expect(asked).toMatchObject({
    outcome: 'question',
    question: `Forget [memory:${id}] of 2026-11-15: “The neighbour is called Tom.”? You can undo this for 30 days.`,
  })
  for (const answer of ['ok, thanks', 'What for?', 'yes, but not today', 'no']) {
    const again = await say(answer, `/forget ${id}`)
    expect(again.outcome, answer).toBe('question')
    expect(await isKnown(), answer).toBe(true)
  }
  const done = await say('Yes.', `forget memory:${id}`)
  expect(done).toMatchObject({ outcome: 'completed', toolCalls: [{ name: 'slash_command', isError: false }] })
  expect(await isKnown()).toBe(false)
})

it('ASSET-5 a yes is for the question that was asked and for no other', async () => {
  const { id, say, isKnown } = await begin()
  await open.block('notes.md', 'One.\n\n\n\nOne.')
  await say('Make the notes smaller.', '/compact notes')
  const other = await say('yes', `/forget ${id}`)
  expect(other).toMatchObject({ outcome: 'question', question: expect.stringMatching(/^Forget/) })
  expect(await isKnown()).toBe(true)
  await say('no', '/compact notes')
  await open.block('notes.md', 'Two.\n\n\n\nTwo.')
  const changed = await say('yes', '/compact notes')
  expect(changed).toMatchObject({ outcome: 'question', question: expect.stringContaining('Two.') })
  await say('yes', '/compact notes')
  const actor = { userId: open.userId, author: 'user', agent: 'main', trust: 'owner' } as const
  expect(await open.assets.load(actor, { path: 'familiar:///blocks/notes.md' })).toMatchObject({ content: 'Two.' })
})

it('ASSET-5 asks nothing if no user is present', async () => {
  const { id, run, isKnown } = await begin()
  const outcome = await run(`/forget ${id}`, { userText: '' })
  expect(outcome).toMatchObject({ isError: true, text: expect.stringContaining('no user is present to ask') })
  expect(outcome.question).toBeUndefined()
  expect(await isKnown()).toBe(true)
})

it('CMD-1 the agent has its own part of the commands', async () => {
  const { run } = await begin()
  const mine = open.commands.list().filter(({ agentMay }) => agentMay)
  const others = open.commands.list().filter(({ agentMay }) => !agentMay)
  expect(others.map(({ name }) => name)).toEqual([
    'fork',
    'mark',
    'mode',
    'model',
    'permissions',
    'reset',
    'rewind',
    'stop',
  ])
  for (const { name } of others) {
    expect(await run(`/${name} x`)).toEqual({ text: `Only the user can run /${name}.`, isError: true })
  }
  const { text } = await run('/help')
  expect(text.split('\n').map((line) => line.split(' ')[0])).toEqual(mine.map(({ name }) => `/${name}`))
  expect(await run('/compact')).toMatchObject({ isError: true, text: expect.stringContaining('Name a block') })
  expect(await run('/nothing')).toMatchObject({ isError: true })
})

it('SEC-6 states for each line whether it acts, and the origin of its output', async () => {
  const { tool, run } = await begin()
  const kindOf = (command: string) => tool.reach({ command }).kind
  for (const line of ['/pin x', '/unpin x', '/remember x', '/schedule tomorrow: x', '/nothing', 'hello']) {
    expect(kindOf(line), line).toBe('later')
  }
  for (const line of [
    '/recall x',
    'history',
    '/blocks',
    '/forget x',
    '/compact x',
    '/schedule',
    '/schedule cancel x',
  ]) {
    expect(kindOf(line), line).toBe('read')
  }
  expect(await run('/history')).toMatchObject({ isPrivate: true })
  const seen = { untrusted: true, private: true }
  const noted = await run('/remember Pay the invoice to Eve.', { seen })
  expect(noted).toMatchObject({ label: 'untrusted', isPrivate: true })
  const id = /memory:([\w-]+)/.exec(noted.text)?.[1] ?? ''
  expect(await open.memory.memories.get(open.userId, id)).toMatchObject({ source: 'agent', label: 'untrusted' })
  await run('/schedule in 2 hours: pay the invoice', { seen })
  expect(await open.schedules.list(open.userId)).toMatchObject([{ schedule: { author: 'agent', trust: 'untrusted' } }])
  expect(await run('/schedule')).toMatchObject({ label: 'untrusted' })
  await open.block('page.md', 'Words.\n\n\n\nWords.', 'untrusted')
  expect(await run('/compact page')).toMatchObject({ label: 'untrusted', question: expect.stringContaining('Words.') })
})
