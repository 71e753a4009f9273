import { describe, expect, it } from 'vitest'
import { isSilentReply } from './session-event.ts'

describe('SESS-10 silent replies', () => {
  it.each([
    ['NO_REPLY', true],
    ['  HEARTBEAT_OK\n', true],
    ['ok, NO_REPLY.', true],
    ['NO_REPLY — nothing to say', true],
    ['NO_REPLYING', false],
    ['I sent XNO_REPLY', false],
    ['They wrote NO_REPLY in the subject line', false],
    ['', false],
    ['…', false],
  ])('SESS-10 %j', (reply, silent) => {
    expect(isSilentReply(reply)).toBe(silent)
  })
})
