import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import { createManualClock } from '../../test/support/manual-clock.ts'
import { openTestDatabase } from '../../test/support/open-test-database.ts'
import { toolContext } from '../../test/support/tool-context.ts'
import { createWakeups } from '../base/work.ts'
import type { Database } from '../storage/database.ts'
import { createClientCalls } from './client-calls.ts'

const directory = mkdtempSync(join(tmpdir(), 'familiar-client-calls-'))
const clock = createManualClock()
let opened: Database

afterEach(async () => {
  await opened.close()
  rmSync(directory, { recursive: true })
})

it('CLIENT-1 a result that comes before the call is known to be written is not waited for', async () => {
  opened = await openTestDatabase({ directory, clock })
  const owner = { id: 'anna', name: 'Anna', role: 'owner', created_at: 0 } as const
  await opened.write((writer) => writer.insertInto('users').values(owner).execute())
  const call = { userId: 'anna', sessionId: 'chat', turnId: 'turn-1', callId: 'call-1' }
  const result = { callId: 'call-1', result: 'ding', isError: false, isUntrusted: false }
  let afterWriting = async () => {}
  const database: Database = {
    ...opened,
    async write(unit, options) {
      const value = await opened.write(unit, options)
      await afterWriting()
      return value
    },
  }
  const calls = createClientCalls({
    database,
    clock,
    timeoutSeconds: () => 60,
    stopping: new AbortController().signal,
    prepareTool: (tool) => tool,
    wakeups: createWakeups(),
    stateIn: 'memory',
  })
  const bell = { name: 'ring_bell', description: 'Rings', inputSchema: {} }
  const free = { find: () => undefined, list: () => [], mayHave: () => false }
  expect(calls.addTo(free, [bell]).list()).toEqual([])
  expect(calls.addTo(free, [bell]).find('ring_bell')).toBeUndefined()
  const tool = calls.addTo({ find: () => undefined, list: () => [] }, [bell]).find('ring_bell')
  afterWriting = async () => {
    afterWriting = async () => {}
    await calls.answer({ userId: 'anna', sessionId: 'chat', results: [result] })
  }
  expect(await tool?.run({}, toolContext(call))).toMatchObject({ text: 'ding', isError: false })
})
