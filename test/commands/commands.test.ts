import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CommandOutcome } from '../../src/agent/commands/command.ts'
import { type OpenCommands, openCommands, stranger } from '../support/open-commands.ts'
import { createScriptedModel } from '../support/scripted-model.ts'

const names = [
  ...['blocks', 'caps', 'compact', 'context', 'cost', 'forget', 'fork', 'help', 'history', 'mark', 'mode', 'model'],
  ...[
    'permissions',
    'pin',
    'pinned',
    'recall',
    'refresh',
    'remember',
    'reset',
    'rewind',
    'schedule',
    'skills',
    'stop',
    'summary',
    'tools',
  ],
  'unpin',
]

let open: OpenCommands
const opened: OpenCommands[] = []

async function begin() {
  const model = createScriptedModel({ script: () => ({ text: 'I see.' }) })
  open = await openCommands({ model })
  opened.push(open)
  await open.talk('The roof is green.')
  await open.talk('The door is blue.')
  await open.block('notes/house.md', 'The house is old.\n\n\n\nThe house is old.\nIt has a roof.')
}

afterAll(() => Promise.all(opened.map((one) => one.close())))

describe('every command with good and bad input', () => {
  beforeAll(begin)

  it('CMD-1 is there, once, with its usage', () => {
    const list = open.commands.list()
    expect(list.map(({ name }) => name)).toEqual(names)
    for (const { name, usage, summary } of list) {
      expect(usage).toMatch(new RegExp(`^/${name}( |$)`))
      expect(summary).toMatch(/^[a-z].*[^.]$/)
    }
    const asking = list.filter((command) => command.changesForGood).map(({ name }) => name)
    expect(asking).toEqual(['compact', 'forget', 'reset', 'rewind', 'schedule'])
  })

  // In this order: what one leaves behind, the next ones find.
  const good: [string, RegExp][] = [
    ['/blocks', /^notes\/house\.md \(\d+ bytes\)$/],
    ['/pinned', /^Nothing is pinned\.$/],
    ['/pin notes/house', /^Pinned notes\/house\.md as number 1, \d+ tokens\. \d+ of 100,000 tokens are pinned\.$/],
    ['/pinned', /^1\. notes\/house\.md \(\d+ tokens\)\n\d+ of 100,000 tokens\.$/],
    ['/BLOCKS notes', /^notes\/house\.md \(\d+ bytes, pinned\)$/],
    ['/unpin familiar:///blocks/notes/house.md', /^Unpinned notes\/house\.md\. 0 of 100,000/],
    ['/remember  My bike is red. ', /^Noted \[memory:[\w-]+\]$/],
    ['/remember My bike is red.', /^Known since 2026-11-15 \[memory:[\w-]+\]$/],
    ['/remember The key is a-known-secret', /^Noted/],
    ['/recall what colour is my bike?', /^\[memory:[\w-]+\] 2026-11-15 My bike is red\.$/m],
    ['/recall key', /\[REDACTED\]/],
    ['/recall the price of tin in Peru', /^I have no memory about that\.$/],
    ['/summary', /^No language model is configured\. Without one, here is an outline:\n4 messages .*\nFirst “The roof/],
    ['/summary main', /4 messages/],
    ['/history', /^2026-11-15 09:00 UTC You: The roof is green\.\n.*Familiar: I see\.\n.*You: The door is blue\.\n/],
    ['/history 1', /^2026-11-15 09:00 UTC Familiar: I see\.$/],
    ['/refresh', /^Reloaded. Takes effect with the next message:\n/],
    ['/mark before the change', /^Marked\. To return here: \/rewind before the change$/],
    ['/model', /^scripted\/main answers here\.$/],
    ['/model scripted/main', /^This conversation now uses scripted\/main\.$/],
    ['/model', /^scripted\/main answers here, as you chose\.$/],
    ['/model default', /^The configuration chooses the model again/],
    ['/context', /conversation +history +[\d,]+ +cached +█+ \d+%[\s\S]*The last request had [\d,]+ tokens/],
    ['/cost', /^\$\d\.\d+ in 2 model calls \(today\)$/],
    ['/cost ALL', /\(all\)$/],
    ['/stop', /^Nothing is running\.$/],
    ['/skills', /^baking: How bread is baked\.$/],
    ['/skills bak', /^baking/],
    ['/skills sewing', /^No skill is named “sewing”\.$/],
    ['/tools', /^ask_user: /],
    ['/tools store_memory', /^store_memory: /],
    ['/tools zzzz', /^No tool matches “zzzz”\.$/],
    ['/caps', /^weather_lookup: The weather of a place\.$/],
    ['/caps weather', /^weather_lookup/],
    ['/caps zzzz', /^No capability matches “zzzz”\.$/],
    ['/schedule', /^Nothing is scheduled\.$/],
    [
      '/schedule tomorrow at 9:30: water the plants',
      /^Scheduled: [\w-]+ \(next 2026-11-16 09:30 UTC; once; to "main"\) .*"water the plants"$/,
    ],
    ['/schedule 0 9 * * 1: plan the week', /^Scheduled: .*cron 0 9 \* \* 1.*"plan the week"$/],
    ['/schedule list', /plan the week[\s\S]*water the plants/],
    ['/help', /^\/blocks \[FOLDER\] +list the blocks$/m],
    ['/help /rewind', /^\/rewind \[N \| MARK\]\nGo back by .*\nIt asks before a permanent change\.$/],
    ['/help cost', /^\/cost \[today \| week \| month \| all\]\nShow the cost of the models\.$/],
    ['/fork another-way', /^You are in another-way now\./],
    ['/fork', /^You are in main copy now\./],
    ['/fork ', /^You are in main copy 2 now\./],
  ]
  it.each(good)('CMD-1 %s', async (line, answer) => {
    const outcome = await open.run(line)
    expect(outcome).toMatchObject({ ok: true, text: expect.stringMatching(answer) })
    expect(outcome.question).toBeUndefined()
  })

  const bad: [string, RegExp][] = [
    ['hello', /^A command starts with a slash/],
    ['//etc/passwd', /^A command starts with a slash/],
    ['/etc/passwd', /^A command starts with a slash/],
    ['/', /^There is no \/\./],
    ['/remembr tea', /^There is no \/remembr\. Did you mean \/remember\?/],
    ['/constructor', /^There is no \/constructor\./],
    [`/help ${'x'.repeat(30_000)}`, /^A command may have at most 20000 characters\.$/],
    ['/pin', /^Which block\?\nUsage: \/pin LABEL$/],
    ['/pin nowhere', /^familiar:\/\/\/blocks\/nowhere\.md does not exist\.$/],
    ['/pin ../../etc/passwd', /Block names/],
    ['/unpin', /Usage: \/unpin LABEL$/],
    ['/unpin notes/house.md', /is not pinned\.$/],
    ['/blocks nowhere', /does not exist\.$/],
    ['/compact nowhere', /does not exist\.$/],
    ['/compact file:///etc/passwd', /^Only blocks can be compacted\.\nUsage: \/compact \[LABEL\]$/],
    ['/compact workspace://x', /^Only blocks can be compacted\./],
    ['/remember', /^Write the note after the command\.\nUsage/],
    ['/recall', /^Write a question after the command\.\nUsage/],
    ['/forget', /^Name the memory to forget\.\nUsage/],
    ['/forget the price of tin in Peru', /^No memory matches/],
    ['/summary nobody', /^There is no session "nobody"\.$/],
    ['/history 0', /^N is a number from 1 to 200\.\nUsage: \/history \[N\]$/],
    ['/history all', /^N is a number/],
    ['/history 201', /^N is a number/],
    ['/mark', /^A mark needs a name.*\nUsage/],
    ['/mark 3', /^A name cannot be just a number/],
    ['/mark '.concat('x'.repeat(300)), /at most 200 characters/],
    ['/rewind 9', /^Cannot go back 9 turns; there are 2\.\nUsage/],
    ['/rewind 0', /^There is no mark named “0”\./],
    ['/rewind nowhere', /^There is no mark named “nowhere”\.\nUsage/],
    ['/fork another-way', /^There is already a session named another-way$/],
    ['/model nobody/none', /^There is no model "nobody\/none"\.\nUsage/],
    ['/cost yesterday', /^Unknown period\.\nUsage/],
    ['/schedule whenever', /^Write the time, a colon, and the message\.\nUsage/],
    ['/schedule whenever: water the plants', /is not a valid time/],
    ['/schedule yesterday at 9:00: water', /not a valid time|in the past/],
    ['/schedule cancel', /^Name a schedule/],
    ['/schedule cancel nothing', /^There is no upcoming schedule with the id “nothing”\.$/],
    ['/help nothing', /^There is no \/nothing\.\nUsage/],
  ]
  it.each(bad)('CMD-1 refuses %s and says why', async (line, answer) => {
    const outcome = await open.run(line)
    expect(outcome).toMatchObject({ ok: false, text: expect.stringMatching(answer) })
  })

  it('CMD-1 answers every command also where nothing was said yet', async () => {
    for (const { name } of open.commands.list()) {
      for (const argument of ['', ' 1', ' x']) {
        const outcome = await open.run(`/${name}${argument}`, { userId: stranger, sessionId: null })
        expect(outcome.text, name).not.toBe('')
      }
    }
  })
})

describe('permanent changes', () => {
  beforeAll(begin)

  async function asked(line: string, outcome?: CommandOutcome) {
    const { question } = outcome ?? (await open.run(line))
    expect(question).toBeDefined()
    return { text: question?.text ?? '', confirm: question?.confirm ?? '' }
  }

  it('ASSET-5 /compact LABEL shows before and after with their tokens, and waits', async () => {
    const { text, confirm } = await asked('/compact notes/house')
    expect(text).toMatch(/without a model .*only blank runs and repeated lines are dropped/)
    expect(text).toMatch(/Before \(\d+ tokens by tokenx estimate\):\nThe house is old\.\n\n\n\nThe house is old\./)
    expect(text).toMatch(/After \(\d+ tokens\):\nThe house is old\.\n\nIt has a roof\.\nReplace it\? \[\w+ → \w+\]$/)
    const path = 'familiar:///blocks/notes/house.md'
    const actor = { userId: open.userId, author: 'user', agent: 'main', trust: 'owner' } as const
    const content = async () => {
      const loaded = await open.assets.load(actor, { path })
      return loaded.ok ? loaded.content : undefined
    }
    const before = await content()
    for (const wrong of [undefined, '', 'yes', confirm.slice(1), confirm.toUpperCase()]) {
      expect((await open.run('/compact notes/house', { confirm: wrong })).question).toEqual({ text, confirm })
      expect(await content()).toBe(before)
    }
    const done = await open.run('/compact notes/house', { confirm })
    expect(done).toMatchObject({ ok: true, text: expect.stringMatching(/is smaller now: \d+ → \d+ tokens\./) })
    expect(await content()).toBe('The house is old.\n\nIt has a roof.')
    expect(await open.run('/compact notes/house', { confirm })).toMatchObject({ ok: false })
    await open.assets.undo(actor, { path })
    expect(await content()).toBe(before)
  })

  it('ASSET-5 asks again if the block has changed by then', async () => {
    const { confirm } = await asked('/compact notes/house')
    await open.block('notes/house.md', 'The house is new.\n\n\n\nThe house is new.')
    const again = await asked('', await open.run('/compact notes/house', { confirm }))
    expect(again.text).toContain('The house is new.')
    expect(again.confirm).not.toBe(confirm)
    await open.block('other.md', 'The house is new.\n\n\n\nThe house is new.')
    const other = await asked('', await open.run('/compact other', { confirm: again.confirm }))
    expect(other.text).toContain('other.md')
  })

  it('ASSET-5 /forget', async () => {
    const noted = await open.run('/remember The neighbour is called Tom.')
    const id = /memory:([\w-]+)/.exec(noted.text)?.[1] ?? ''
    const { text, confirm } = await asked(`/forget [memory:${id}]`)
    expect(text).toBe(
      `Forget [memory:${id}] of 2026-11-15: “The neighbour is called Tom.”? You can undo this for 30 days.`,
    )
    expect(await open.memory.memories.get(open.userId, id)).toBeDefined()
    // By its words it is the same question, and the same yes holds.
    expect(await open.run('/forget neighbour Tom', { confirm })).toMatchObject({
      ok: true,
      text: expect.stringMatching(/^Forgot/),
    })
    expect(await open.memory.memories.get(open.userId, id)).toBeUndefined()
    expect(await open.run(`/forget ${id}`, { confirm })).toMatchObject({ ok: false })
  })

  it('ASSET-5 /forget of what several fit names them and forgets none', async () => {
    await open.run('/remember The violin is in the red case.')
    await open.run('/remember The violin is at the luthier.')
    const outcome = await open.run('/forget violin')
    expect(outcome).toMatchObject({
      ok: false,
      text: expect.stringMatching(/^Several memories match\.[\s\S]*case[\s\S]*luthier|luthier[\s\S]*case/),
    })
    expect(outcome.question).toBeUndefined()
  })

  it('ASSET-5 /rewind, asked again after further messages', async () => {
    const { text, confirm } = await asked('/rewind')
    expect(text).toMatch(
      /^Go back in “main” \(\d+ events\) 1 turn, to before “The door is blue\.” of 2026-11-15 09:00 UTC\?/,
    )
    await open.talk('The gate is open.')
    const again = await asked('', await open.run('/rewind', { confirm }))
    expect(again.text).toContain('“The gate is open.”')
    expect(await open.run('/rewind', { confirm: again.confirm })).toMatchObject({ ok: true, text: 'Went back 1 turn.' })
    expect((await open.run('/history 2')).text).toContain('The door is blue.')
    await open.run('/mark here')
    await open.talk('The wall is wet.')
    const mark = await asked('/rewind here')
    expect(mark.text).toMatch(
      /^Go back in “main” \(\d+ events\) to the mark “here”\? The newest is “The wall is wet\.”/,
    )
    expect(await open.run('/rewind here', { confirm: mark.confirm })).toMatchObject({ ok: true, text: 'Back at here.' })
  })

  it('ASSET-5 /compact of the conversation', async () => {
    const { text, confirm } = await asked('/compact')
    expect(text).toMatch(/^Summarize the oldest part of “main”\? [\d,]+ of [\d,]+ tokens in the window/)
    const done = await open.run('/compact', { confirm })
    expect(done).toMatchObject({ ok: true, text: expect.stringMatching(/^The oldest part is now a summary: /) })
  })

  it('ASSET-5 /schedule cancel', async () => {
    const made = await open.run('/schedule in 2 hours: call Tom')
    const id = /Scheduled: ([\w-]+)/.exec(made.text)?.[1] ?? ''
    const { text, confirm } = await asked(`/schedule cancel ${id}`)
    expect(text).toMatch(/^Cancel .*"call Tom"\?$/)
    expect(await open.schedules.list(open.userId)).toHaveLength(1)
    expect(await open.run(`/schedule cancel ${id}`, { confirm })).toMatchObject({ ok: true, text: 'Cancelled.' })
    expect(await open.schedules.list(open.userId)).toEqual([])
  })

  it('ASSET-5 /reset', async () => {
    const { text, confirm } = await asked('/reset')
    expect(text).toMatch(/^Archive “main” \(\d+ events up to 2026-11-15 09:00 UTC\) and start a new conversation\?/)
    expect(await open.conversations.sessions(open.userId)).toHaveLength(1)
    expect(await open.run('/reset', { confirm })).toMatchObject({ ok: true, goesOnIn: 'main' })
    expect(await open.conversations.sessions(open.userId)).toEqual([])
    expect(await open.run('/reset')).toMatchObject({ ok: false })
  })
})

it('ASSET-5 writes the summary that was shown, and no other one', async () => {
  let call = 0
  const fast = createScriptedModel({
    info: { id: 'scripted/fast' },
    script: () => ({ text: `Old house, take ${++call}.` }),
  })
  const made = await openCommands({ model: createScriptedModel({ script: () => ({ text: 'I see.' }) }), fast })
  opened.push(made)
  await made.block(
    'house.md',
    'There is a house. It is rather old, as houses go, and it has stood there for long.',
    'untrusted',
  )
  const first = await made.run('/compact house')
  const second = await made.run('/compact house')
  expect(first.question?.text).toMatch(/summarized by the fast model[\s\S]*Old house, take 1\./)
  expect(second.question?.text).toContain('take 2')
  expect(first.label).toBe('untrusted')
  const done = await made.run('/compact house', { confirm: first.question?.confirm })
  expect(done.ok).toBe(true)
  const actor = { userId: made.userId, author: 'user', agent: 'main', trust: 'owner' } as const
  const loaded = await made.assets.load(actor, { path: 'familiar:///blocks/house.md' })
  // Text derived from untrusted text stays untrusted, even after a yes.
  expect(loaded).toMatchObject({ content: 'Old house, take 1.', trust: 'untrusted' })
  expect(fast.requests).toHaveLength(2)
})

describe('completions', () => {
  beforeAll(async () => {
    await begin()
    await open.run('/mark before')
    await open.run('/schedule in 2 hours: call Tom')
  })

  const texts = async (line: string, more: { userId?: string; sessionId?: string | null } = {}) => {
    const { userId } = open
    const completion = await open.commands.complete({ userId, sessionId: open.sessionId(), line, ...more })
    return { start: completion.start, texts: completion.candidates.map(({ text }) => text) }
  }

  it.each([
    ['/', 0, names.map((name) => `/${name}`)],
    ['/pin', 0, ['/pin', '/pinned']],
    ['/PI', 0, ['/pin', '/pinned']],
    ['/zzz', 0, []],
    ['/pin ', 5, ['notes/house.md']],
    ['/pin NOTES/', 5, ['notes/house.md']],
    ['/pin x', 5, []],
    ['/compact n', 9, ['notes/house.md']],
    ['/unpin ', 7, []],
    ['/summary ', 9, ['main']],
    ['/rewind ', 8, ['before']],
    ['/model ', 7, ['scripted/main', 'default']],
    ['/tools store_', 7, ['store_memory']],
    ['/skills ', 8, ['baking']],
    ['/caps we', 6, ['weather_lookup']],
    ['/cost m', 6, ['month']],
    ['/help re', 6, ['recall', 'refresh', 'remember', 'reset', 'rewind']],
    ['/stop ', 6, []],
    ['hello', 5, []],
    ['/etc/passwd', 11, []],
  ])('CMD-1 after %s', async (line, start, expected) => {
    expect(await texts(line)).toEqual({ start, texts: expected })
  })

  it('CMD-1 after /schedule', async () => {
    const [{ schedule } = { schedule: { id: '' } }] = await open.schedules.list(open.userId)
    expect((await texts('/schedule c')).texts).toEqual([`cancel ${schedule.id}`])
  })

  it('SEC-22 nothing of another user', async () => {
    const sessionId = open.sessionId()
    for (const line of ['/pin ', '/compact ', '/unpin ', '/summary ', '/rewind ', '/caps ', '/schedule cancel']) {
      expect((await texts(line, { userId: stranger, sessionId })).texts, line).toEqual([])
    }
  })
})

describe('another user', () => {
  beforeAll(begin)

  it('SEC-22 learns and changes nothing by any id', async () => {
    const noted = await open.run('/remember The safe is behind the mirror.')
    const memoryId = /memory:([\w-]+)/.exec(noted.text)?.[1] ?? ''
    const made = await open.run('/schedule in 2 hours: open the safe')
    const scheduleId = /Scheduled: ([\w-]+)/.exec(made.text)?.[1] ?? ''
    await open.run('/pin notes/house')
    await open.run('/mark before')
    const sessionId = open.sessionId()
    const before = (await open.conversations.findSession(open.userId, sessionId ?? ''))?.lastSeq
    const arguments_ = ['', ` ${memoryId}`, ` ${scheduleId}`, ` ${sessionId}`, ' main', ' before', ' notes/house.md']
    const lines = open.commands
      .list()
      .filter(({ name }) => !['help', 'tools', 'skills', 'model', 'cost'].includes(name))
      .flatMap(({ name }) => [...arguments_, ` cancel ${scheduleId}`].map((argument) => `/${name}${argument}`))
    for (const line of lines) {
      const outcome = await open.run(line, { userId: stranger, sessionId })
      expect(outcome.text, line).not.toMatch(/mirror|open the safe|roof|door|The house/)
      expect(outcome.question, line).toBeUndefined()
    }
    // Each of the user's own questions, answered by another user.
    for (const line of [
      '/reset',
      '/rewind',
      `/forget ${memoryId}`,
      '/compact notes/house',
      `/schedule cancel ${scheduleId}`,
    ]) {
      const { question } = await open.run(line)
      const outcome = await open.run(line, { userId: stranger, sessionId, confirm: question?.confirm })
      expect(outcome, line).toMatchObject({ ok: false })
    }
    expect((await open.conversations.findSession(open.userId, sessionId ?? ''))?.lastSeq).toBe(before)
    expect(await open.memory.memories.get(open.userId, memoryId)).toBeDefined()
    expect(await open.schedules.list(open.userId)).toHaveLength(1)
    expect((await open.pins.list({ userId: open.userId, agent: 'main' })).pins).toHaveLength(1)
  })
})
