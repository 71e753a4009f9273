import { expect, it } from 'vitest'
import { asProvidersRead, repeated } from '../../bench/peers/measure-requests.ts'

const tools = [{ type: 'function', function: { name: 'look_up' } }]
const hello = { role: 'user', content: 'hello' }
const reply = { role: 'assistant', content: 'hi' }

it('counts a session that only grows as repeated whole, wherever the body has its tools', () => {
  const before = asProvidersRead({ body: { messages: [hello], tools } })
  const after = asProvidersRead({ body: { tools, messages: [hello, reply] } })
  expect(repeated(before, after)).toBe(1)
})

it('counts a window that moves on as repeated up to where it moved', () => {
  const before = asProvidersRead({ body: { tools, messages: [hello, reply] } })
  const after = asProvidersRead({ body: { tools, messages: [reply, hello] } })
  expect(repeated(before, after)).toBeGreaterThan(0.3)
  expect(repeated(before, after)).toBeLessThan(0.8)
})
