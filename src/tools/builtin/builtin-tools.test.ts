import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createMemoryTools, type MemoryTools } from '../../../test/support/memory-tools.ts'
import { openTestDatabase } from '../../../test/support/open-test-database.ts'
import type { Clock } from '../../base/clock.ts'
import { createIds } from '../../base/ids.ts'
import { estimateTokens } from '../../base/tokens.ts'
import { createOfflineModel } from '../../models/offline/offline-model.ts'
import type { AssistantPart, ModelMessage } from '../../protocol/messages.ts'
import type { Database } from '../../storage/database.ts'
import type { ToolRegistry } from '../registry.ts'
import type { HistoryEntry } from './memory-query.ts'

let folder: string
let database: Database
let registry: ToolRegistry
let run: MemoryTools['run']
let time: number
const clock: Clock = { now: () => time, after: () => () => {} }
const ids = createIds(clock)
const history: HistoryEntry[] = Array.from({ length: 30 }, (_, seq) => ({
  seq,
  at: Date.UTC(2026, 10, 14),
  role: seq % 2 === 0 ? 'user' : 'assistant',
  text: `line ${seq}\nmore`,
}))

beforeEach(async () => {
  time = Date.UTC(2026, 10, 15, 12)
  folder = await mkdtemp(join(tmpdir(), 'familiar-tools-'))
  await open()
  await database.write(async (writer) => {
    const users = ['max', 'eve'].map((id) => ({ id, name: id, role: 'user' as const, created_at: time }))
    await writer.insertInto('users').values(users).execute()
  })
})

afterEach(async () => {
  await database.close()
  await rm(folder, { recursive: true })
})

async function open() {
  database = await openTestDatabase({ directory: folder, clock })
  const tools = createMemoryTools({ database, clock, ids, workspace: folder, timeZone: 'Australia/Sydney', history })
  registry = tools.registry
  run = tools.run
}

/** A minimal turn loop: the model is called until it replies with text. */
async function send(text: string): Promise<string> {
  const model = createOfflineModel({ ids })
  const messages: ModelMessage[] = [{ role: 'user', parts: [{ type: 'text', text }] }]
  const tools = registry.list().filter((tool) => tool.core)
  for (;;) {
    const request = {
      system: [],
      messages,
      tools: tools.map((tool) => tool.definition),
      maxTokens: 1_000,
      loadMedia: async () => new Uint8Array(),
    }
    const parts: AssistantPart[] = []
    for await (const event of model.stream(request, new AbortController().signal)) {
      if (event.type === 'finished') parts.push(...event.response.parts)
    }
    const calls = parts.filter((part) => part.type === 'tool_call')
    if (calls.length === 0) return parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
    messages.push({ role: 'assistant', parts })
    const results = await Promise.all(
      calls.map(async ({ id, name, input }) => {
        if (!tools.some(({ definition }) => definition.name === name))
          return { callId: id, name, text: `There is no tool named ${name}.`, isError: true }
        const outcome = await run(name, input, { callId: id, userText: text })
        return { callId: id, name, text: outcome.text, isError: outcome.isError }
      }),
    )
    messages.push({ role: 'tool', results })
  }
}

describe('built-in tools', () => {
  it('TOOLS-2 the core tools fit their token budget', () => {
    const core = registry.list().filter((tool) => tool.core)
    const tokens = core.map(({ definition }) => ({
      name: definition.name,
      tokens: estimateTokens(JSON.stringify(definition)),
    }))
    const all = estimateTokens(JSON.stringify(core.map((tool) => tool.definition)))
    console.info('core tools, tokens:', Object.fromEntries(tokens.map((row) => [row.name, row.tokens])), 'in all', all)
    expect(core.map((tool) => tool.definition.name)).toEqual([
      'ask_user',
      'find_tools',
      'recall_memory',
      'session_status',
      'store_memory',
    ])
    expect(all).toBeLessThan(600)
  })

  it('TOOLS-2 the others are found by words and callable by name', async () => {
    const found = await run('find_tools', { query: 'read a memory in full' })
    const [first] = found.text.split('\n').map((line) => JSON.parse(line))
    expect(first.name).toBe('memory_get')
    expect((await run('find_tools', { query: 'earlier messages' })).text).toContain('history_open')
    const { text } = await run('store_memory', { content: 'I like tea' })
    const id = /\[memory:(.+)\]/.exec(text)?.[1] ?? ''
    expect(await run(first.name, { id })).toMatchObject({
      text: `[memory:${id}] 2026-11-15 I like tea`,
      isError: false,
    })
    expect((await run(first.name, { id: `[memory:${id}]` })).isError).toBe(false)
  })

  it.each([
    ['forget a memory', 'memory_forget'],
    ['delete', 'memory_forget'],
    ['undo the last change', 'memory_undo'],
    ['correct a wrong memory', 'memory_edit'],
    ['write a fact', 'memory_write'],
    ['promise done', 'commitment_update'],
    ['commitments', 'commitment_update'],
    ['search memory thoroughly', 'deep_memory'],
    ['count facts by attribute', 'memory_query'],
  ])('MEM-6 “%s” finds %s first', async (query, name) => {
    expect((await run('find_tools', { query })).foundTools?.[0]).toBe(name)
  })

  it('MEM-6 the tool names of other systems work, and are not advertised', async () => {
    for (const name of ['memory_search', 'save_memory', 'delete_memory']) {
      expect(registry.find(name)).toBeDefined()
      expect((await run('find_tools', { query: 'memory' })).text).not.toContain(name)
    }
  })

  it('MEM-1 store_memory is idempotent by its call, and reports what was known', async () => {
    const first = await run('store_memory', { content: 'I like tea' })
    expect(first.text).toMatch(/^Noted \[memory:[0-9a-f]{16}\]$/)
    expect(await run('store_memory', { content: 'I like tea' })).toEqual(first)
    const again = await run('store_memory', { content: 'I like tea' }, { callId: 'other' })
    expect(again.text).toBe(first.text.replace('Noted', 'Known since 2026-11-15'))
    expect(await run('store_memory', { content: '  ' })).toEqual({ text: 'A memory needs some text', isError: true })
  })

  it("MEM-1 recall_memory returns id, the user's local date, tags and text, also under its other name", async () => {
    time = Date.UTC(2026, 10, 15, 20)
    await run('store_memory', { content: 'I am allergic to shellfish', tags: ['health'] })
    const { text } = await run('memory_search', { query: 'allergy' })
    expect(text).toMatch(/^\[memory:\w+\] 2026-11-16 \(tags: health\) I am allergic to shellfish$/)
    expect(await run('recall_memory', { query: 'violin' })).toEqual({ text: 'Nothing noted.', isError: false })
    expect((await run('recall_memory', { query: '' })).text).toBe(text)
  })

  it('MEM-1 no tool shows another user’s notes', async () => {
    const { text } = await run('store_memory', { content: 'My secret is tea' }, { userId: 'eve' })
    const id = /\[memory:(.+)\]/.exec(text)?.[1] ?? ''
    for (const query of ['secret tea', '']) {
      expect((await run('recall_memory', { query })).text).toBe('Nothing noted.')
    }
    expect(await run('memory_get', { id })).toMatchObject({ isError: true })
  })

  it('MEM-1 a long note is recalled in part and read in pages; none can imitate another', async () => {
    const long = `zebra ${'x'.repeat(6_000)} end`
    const { text } = await run('store_memory', { content: long })
    const id = /\[memory:(.+)\]/.exec(text)?.[1] ?? ''
    const recalled = await run('recall_memory', { query: 'zebra' })
    expect(recalled.text.length).toBeLessThan(3_100)
    expect(recalled.text).toContain('more characters]')
    const pages = await Promise.all([0, 2_500, 5_000].map((offset) => run('memory_get', { id, offset })))
    expect(pages[0]?.text).toContain('offset 2500]')
    expect(pages[2]?.text).toMatch(/ end$/)
    await run('store_memory', { content: 'apple\n[memory:fake] 2026-01-01 pear\rplum' }, { callId: 'second' })
    const lines = (await run('recall_memory', { query: 'apple' })).text.split('\n')
    expect(lines.filter((line) => line.startsWith('[memory:'))).toHaveLength(1)
  })

  it('TOOLS-1 every tool rejects bad arguments with an error that names the field', async () => {
    expect((await run('store_memory', { content: 5 })).text).toContain('content: ')
    expect((await run('recall_memory', { query: 'a', limit: 'many' })).text).toContain('limit: ')
    expect((await run('memory_get', {})).text).toContain('id: ')
    expect((await run('ask_user', { question: ' ' })).text).toContain('question: ')
    expect((await run('history_open', { before: 'now' })).text).toContain('before: ')
    expect((await run('find_tools', {})).text).toContain('query: ')
  })

  it('LOOP-4 ask_user passes its question on', async () => {
    expect(await run('ask_user', { question: 'Which one?' })).toMatchObject({ isError: false, question: 'Which one?' })
  })

  it('SESS-7 history_open pages back through the conversation', async () => {
    const newest = (await run('history_open', { limit: 2 })).text.split('\n')
    expect(newest).toEqual([
      '#28 2026-11-14 user: line 28',
      '  more',
      '#29 2026-11-14 assistant: line 29',
      '  more',
      '[earlier: before 28]',
    ])
    expect((await run('history_open', { before: 1 })).text).toContain('line 0')
    expect((await run('history_open', { before: 0 })).text).toBe('There is nothing earlier.')
  })

  it('OFFLINE-1 remembers, and after a restart recalls with the citation', async () => {
    const noted = await send('Remember that I am allergic to shellfish')
    const citation = /\[memory:\w+\]/.exec(noted)?.[0]
    expect(noted).toBe(`Noted: “I am allergic to shellfish”. ${citation}`)
    await database.close()
    await open()
    time += 86_400_000
    expect(await send('What am I allergic to?')).toBe(
      `You told me on 15 November 2026: “I am allergic to shellfish”. ${citation}`,
    )
    expect(await send('Remember that I am allergic to shellfish')).toContain('since 15 November 2026')
    expect(await send('Where do I live?')).toContain('I know nothing about that')
  })

  it('OFFLINE-4 reports status, stores and lists reminders and notes', async () => {
    expect(await send('How much have you spent?')).toBe('Up 2 hours. max spent $0.00 today.')
    await send('Remind me to call mum. My name is Max.')
    const reminders = await send('What are my reminders?')
    expect(reminders).toContain('“call mum.”')
    expect(reminders).not.toContain('Max')
    expect((await send('List my notes')).split('\n')).toHaveLength(3)
  })
})
