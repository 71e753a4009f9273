import { expect, it } from 'vitest'
import { createRedactor } from '../security/redactor.ts'
import { createToolRegistry } from './registry.ts'
import { redactTool, type Tool, type ToolContext } from './tool.ts'

const secret = 'sk-canary-0123456789'
const redactor = createRedactor([secret])

const tool = (run: Tool['run']): Tool => ({
  definition: { name: 'leaks', description: 'Leaks.', inputSchema: { type: 'object' } },
  effect: 'idempotent',
  serial: false,
  core: true,
  aliases: ['leak'],
  reach: () => ({ kind: 'read', destination: null }),
  run,
})

it('SEC-13 removes secrets from all results, progress and errors of a registered tool', async () => {
  const told: unknown[] = []
  const context: ToolContext = {
    userId: 'user',
    sessionId: 'session',
    turnId: 'turn',
    callId: 'call',
    userText: '',
    answers: null,
    seen: { untrusted: false, private: false },
    signal: new AbortController().signal,
    mayFollow: async () => true,
    progress: (data) => void told.push(data),
  }
  const registry = createToolRegistry([], undefined, (each) => redactTool(each, redactor))
  const runs: Tool['run'] = async (input, { progress }) => {
    progress({ secret })
    if (input === 'fail') throw new Error(`No entry with ${secret}`)
    if (input === 'stop') throw new DOMException('stopped', 'AbortError')
    const card = { title: secret, html: secret, text: secret, accentColor: null, backgroundColor: null, icon: null }
    return { text: secret, isError: false, says: secret, question: secret, card }
  }
  registry.add(tool(runs))
  const found = registry.find('leak')
  const clean = '[redacted]'
  expect(await found?.run({}, context)).toEqual({
    text: clean,
    isError: false,
    says: clean,
    question: clean,
    card: { title: clean, html: clean, text: clean, accentColor: null, backgroundColor: null, icon: null },
  })
  expect(told).toEqual([{ secret: clean }])
  await expect(found?.run('fail', context)).rejects.toThrow('No entry with [redacted]')
  await expect(found?.run('stop', context)).rejects.toMatchObject({ name: 'AbortError' })
  registry.replace('mcp:server', [
    { ...tool(runs), definition: { ...tool(runs).definition, name: 'other' }, aliases: [] },
  ])
  expect(await registry.find('other')?.run({}, context)).toMatchObject({ text: clean })
})
