import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { expect, it } from 'vitest'
import { createEventMemory } from './familiar-mcp.ts'

const message = (text: string): JSONRPCMessage => ({ jsonrpc: '2.0', method: 'notifications/x', params: { text } })

async function replayed(memory: ReturnType<typeof createEventMemory>, after: string): Promise<string[]> {
  const ids: string[] = []
  await memory.replayEventsAfter(after, { send: async (id) => void ids.push(id) })
  return ids
}

it('HTTP-4 reads on behind an event, in its own stream only', async () => {
  const memory = createEventMemory()
  for (const stream of ['a', 'b', 'a', 'a', 'b']) await memory.storeEvent(stream, message(stream))
  expect(await replayed(memory, '1')).toEqual(['3', '4'])
  expect(await replayed(memory, '2')).toEqual(['5'])
  expect(await memory.getStreamIdForEventId?.('5')).toBe('b')
  expect(await memory.getStreamIdForEventId?.('6')).toBeUndefined()
})

it('SEC-18 keeps the newest, by number and by size', async () => {
  const memory = createEventMemory()
  for (let count = 0; count < 300; count += 1) await memory.storeEvent('a', message('x'))
  expect(await memory.getStreamIdForEventId?.('44')).toBeUndefined()
  expect(await memory.getStreamIdForEventId?.('45')).toBe('a')
  await memory.storeEvent('a', message('x'.repeat(5_000_000)))
  expect(await memory.getStreamIdForEventId?.('300')).toBeUndefined()
  expect(await memory.getStreamIdForEventId?.('301')).toBe('a')
  await expect(replayed(memory, '300')).rejects.toThrow('no longer available')
})
