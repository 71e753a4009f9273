import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createIds } from '../../src/base/ids.ts'
import type { ChatReply } from '../../src/protocol/api.ts'
import { createAccessTokens } from '../../src/security/tokens.ts'
import { userTables } from '../../src/security/users.ts'
import { type FakeModel, startFakeModel } from '../support/fake-model/start-fake-model.ts'
import { type RunningFamiliar, startFamiliar } from '../support/running-familiar.ts'
import { untilSearchable } from './raw-tables.ts'

/** The owner's data, by id or name. */
interface Owned {
  note: string
  commitment: string
  capability: string
  question: string
  spawn: string
  schedule: string
}

/**
 * For every tool that comes with the program what another user's agent may try: with ids and names of the owner's, or with
 * words that would find what is the owner's. A tool that is not here fails the test.
 */
function attemptsWith(of: Owned): Record<string, object[]> {
  return {
    answer_build: [{ question_id: of.question, answer: 'yes' }],
    ask_user: [{ question: 'Which?' }],
    calculate: [{ expression: '1 + 1' }],
    generate_image: [{ prompt: 'A cat' }],
    chart: [{ kind: 'bar', labels: ['a'], series: [{ name: 'x', values: [1] }] }],
    browser: [{ action: 'close' }],
    cancel_scheduled: [{ id: of.schedule }],
    commitment_update: [
      { id: of.commitment, state: 'done' },
      { who: 'user', what: 'feed', state: 'done' },
    ],
    deep_memory: [{ question: 'Which house has a blue door?' }],
    // With a sandbox, the plan keeps others from it.
    exec: [{ command: 'cat USER.md' }],
    execute_capability: [{ name: of.capability, input: {} }],
    file_edit: [
      { path: 'USER.md', old: 'a', new: 'b' },
      { path: 'familiar:///blocks/house.md', old: 'blue', new: 'red' },
    ],
    file_read: [{ path: 'USER.md' }, { path: 'familiar:///blocks/house.md' }],
    file_write: [{ path: 'notes/house.md', content: 'Oslo' }],
    find_tools: [{ query: 'greet the house' }],
    history_open: [{ limit: 50 }],
    list_scheduled: [{ all: true }],
    // Skills are of the home, for all its users.
    load_skill: [{ name: 'house' }],
    lookup_capability: [{ query: 'greet the house' }],
    memory_edit: [{ id: of.note, content: 'Mine now' }],
    memory_forget: [{ id: of.note }],
    memory_get: [{ id: of.note }, { id: of.commitment }],
    memory_query: [{ about: 'user' }, { words: 'house blue door' }, { who: 'user', history: true }],
    memory_undo: [{}],
    memory_write: [{ entity: 'user', attribute: 'home', value: 'Oslo' }],
    message: [{ text: 'Hello' }],
    react: [{ emoji: '👍' }],
    read_run_md: [{ name: of.capability }],
    read_skill_file: [{ name: 'house', path: 'SKILL.md' }],
    reason: [{ thought: 'Where is the house?' }],
    recall_memory: [{ query: 'house blue door', limit: 20 }],
    repair_capability: [{ name: of.capability, problem: 'It is wrong' }],
    request_capability: [{ name: of.capability, description: 'Greets the house' }],
    run_skill_script: [{ name: 'house', path: 'scripts/greet.py' }],
    schedule_message: [{ message: 'Hello', at: '2099-01-01T09:00' }],
    session_status: [{}],
    sessions_collect: [{ ids: [of.spawn] }, {}],
    sessions_spawn: [{ task: 'Say hello', tools: ['memory_get'] }],
    sessions_wait: [{ ids: [of.spawn], timeout_seconds: 1 }],
    slash_command: [
      { command: '/blocks' },
      { command: '/pin house' },
      { command: '/schedule list' },
      { command: '/recall blue door' },
    ],
    store_memory: [{ content: 'Oslo has a fjord' }],
    tts: [{ text: 'Hello' }],
    web_fetch: [{ url: 'http://127.0.0.1:9/' }],
    web_search: [{ query: 'house' }],
  }
}

const provider = (url: string) => `type = "openai-compatible"
base_url = "${url}/v1"
api_key_env = "FAKE_KEY"
[models.main]
model = "fake-model"
max_tokens = 1024
max_context_tokens = 200000
cost_per_mtok = [3.0, 15.0]
`
// Earlier messages are not recalled: each attempt is separate.
const toml = `[routes]
primary = "fake/main"
[memory]
conversations = false
extraction = false
[tools.tts]
provider = "off"
[plans.all.tools]
allow = ["*", "exec", "file_read", "file_write", "file_edit"]
`

describe('data of one user', () => {
  let fake: FakeModel
  let familiar: RunningFamiliar
  let mine: Owned
  let token: string

  beforeAll(async () => {
    fake = await startFakeModel()
    fake.respondWith(({ lastUserText, toolResults }) => {
      const [, name = '', input = '{}'] = /CALL (\w+) (\{.*\})/.exec(lastUserText) ?? []
      return name && toolResults.length === 0 ? { toolCalls: [{ name, input: JSON.parse(input) }] } : { text: 'Done.' }
    })
    const first = await startFamiliar({ providers: { fake: provider(fake.url) }, toml })
    await first.daemon.database.write((writer) => {
      const user = { id: 'user-2', name: 'Ben', role: 'user', tier: 'all', created_at: 0 } as const
      return writer.insertInto('users').values(user).execute()
    })
    await first.close({ keep: true })
    familiar = await startFamiliar({ home: first.home })
    const { database, ownerId } = familiar.daemon
    const remember = async (path: string, body: object) =>
      expect((await familiar.request('POST', `/api/v1/memories${path}`, body)).status).toBe(201)
    await remember('', { content: 'The quagga house has a blue door', title: 'Quagga title' })
    await remember('/facts', { entity: 'user', attribute: 'home', value: 'Quagga street' })
    await remember('/commitments', { what: 'feed the quagga' })
    const idOf = async (kind: 'note' | 'commitment') =>
      (await database.read.selectFrom('memories').select('id').where('kind', '=', kind).executeTakeFirstOrThrow()).id
    const [note, commitment] = [await idOf('note'), await idOf('commitment')]
    await familiar.chat('CALL sessions_spawn {"task": "Think of a quagga"}')
    const spawn = await database.read.selectFrom('spawns').select('id').executeTakeFirstOrThrow()
    const plan = { message: 'Feed the quagga', at: '2099-01-01T09:00', session: 'main' }
    const planned = (await (await familiar.request('POST', '/api/v1/schedules', plan)).json()) as { id: string }
    const now = Date.now()
    const [capability, build] = ['capability-1', 'build-1']
    await database.write(async (writer) => {
      const block = { user_id: ownerId, label: 'house.md', content: 'The quagga house is blue', tokens: 6, version: 1 }
      await writer
        .insertInto('blocks')
        .values({ ...block, trust: 'owner', created_at: now, updated_at: now })
        .execute()
      await writer
        .insertInto('capabilities')
        .values({
          ...{ id: capability, user_id: ownerId, name: 'house_greeter', description: 'Greets the quagga house' },
          ...{ state: 'building', origin: 'built', version: null, input_schema: '{}', tags: '[]', permissions: '{}' },
          ...{ problem: null, last_called_at: null, last_error: null, failing_input: null },
          ...{ created_at: now, updated_at: now },
        })
        .execute()
      await writer
        .insertInto('builds')
        .values({
          ...{ id: build, user_id: ownerId, capability_id: capability, kind: 'build', state: 'running', error: null },
          ...{ request: '{}', session_id: null, call_id: null, created_at: now, updated_at: now, ended_at: null },
        })
        .execute()
      await writer
        .insertInto('build_questions')
        .values({
          ...{ id: 'question-1', build_id: build, kind: 'question', question: 'Which quagga?', secret: null },
          ...{ state: 'asked', answer: null, asked_at: now, expires_at: now + 3_600_000 },
        })
        .execute()
    })
    const clock = systemClock()
    const tokens = createAccessTokens({ database, clock, ids: createIds(clock) })
    token = (await tokens.createToken('user-2', 'chat')).token
    mine = {
      note,
      commitment,
      capability: 'house_greeter',
      question: 'question-1',
      spawn: spawn.id,
      schedule: planned.id,
    }
  })
  afterAll(async () => {
    await familiar.close()
    await fake.close()
  })

  /** The same shape, without an owner. */
  function nobodys(): Owned {
    const changed = Object.entries(mine).map(([key, id]) => [key, `${id.slice(0, -1)}${id.endsWith('a') ? 'b' : 'a'}`])
    return Object.fromEntries(changed) as unknown as Owned
  }

  /** In a conversation of its own each, so that nothing is remembered from the one before. */
  async function call(name: string, input: object, session: string): Promise<string> {
    const first = fake.requests.length
    const message = `CALL ${name} ${JSON.stringify(input)}`
    const response = await familiar.request(
      'POST',
      '/api/v1/chat',
      { message, session },
      { authorization: `Bearer ${token}` },
    )
    const reply = (await response.json()) as ChatReply
    expect({ name, status: response.status, reply }).toMatchObject({ status: 200 })
    const asked = fake.requests.slice(first).map(({ bytes }) => bytes)
    const all = [...asked, JSON.stringify(reply)].join('\n')
    expect(all, name).not.toMatch(/quagga/i)
    const said = Object.values(input).flat()
    for (const id of Object.values(mine)) if (!said.includes(id)) expect(all, name).not.toContain(id)
    const messages = (fake.requests.at(-1)?.body.messages ?? []) as { role: string; content: unknown }[]
    const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.stringify(content))
    return [reply.outcome, ...results].join('\n')
  }

  const wordsOf = (text: string, of: Owned) => Object.values(of).reduce((rest, id) => rest.replaceAll(id, '<id>'), text)

  async function rowsOfOwner(): Promise<unknown[]> {
    const { database, ownerId } = familiar.daemon
    const tables = Object.entries(userTables).flatMap(([table, rule]) => (rule.rows === 'own' ? [table] : []))
    // The owner's own learning runs at the same time.
    tables.splice(tables.indexOf('memory_marks'), 1)
    return Promise.all(
      tables.map(async (table) => [
        table,
        (await sql`select * from ${sql.table(table)} where user_id = ${ownerId}`.execute(database.read)).rows,
      ]),
    )
  }

  it('SEC-22 every tool is tried', async () => {
    const { tools } = (await (await familiar.request('GET', '/api/v1/tools')).json()) as { tools: { name: string }[] }
    expect(Object.keys(attemptsWith(mine)).sort()).toEqual(tools.map(({ name }) => name).sort())
  })

  it('SEC-22 no tool shows it to another user, changes it, or reveals that it exists', async () => {
    await untilSearchable(familiar.daemon.database)
    const before = await rowsOfOwner()
    const madeUp = attemptsWith(nobodys())
    for (const [name, attempts] of Object.entries(attemptsWith(mine))) {
      for (const [index, input] of attempts.entries()) {
        const said = wordsOf(await call(name, input, `${name}-${index}`), mine)
        const other = madeUp[name]?.[index] ?? {}
        // Without an id there is nothing to compare.
        if (JSON.stringify(other) === JSON.stringify(input)) continue
        expect(wordsOf(await call(name, other, `${name}-${index}-other`), nobodys()), name).toBe(said)
      }
    }
    expect(await rowsOfOwner()).toEqual(before)
  })
})
