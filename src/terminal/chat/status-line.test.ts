import { expect, it } from 'vitest'
import { createManualClock } from '../../../test/support/manual-clock.ts'
import { createStatusLine } from './status-line.ts'

function open(isTTY: boolean) {
  const clock = createManualClock(0)
  const written: string[] = []
  const stream = { isTTY, columns: 20, write: (text: string) => written.push(text) }
  return { clock, written, status: createStatusLine({ stream, clock, afterMs: 1_000 }) }
}

it('CLI-1 shows the current activity after a while, and removes it', async () => {
  const { clock, written, status } = open(true)
  status.show('thinking')
  await clock.advance(900)
  expect(written).toEqual([])
  await clock.advance(100)
  expect(written.at(-1)).toContain('thinking 1 s')
  status.show('a name that is far too long for this\u001b[2J terminal')
  await clock.advance(100)
  expect(written.at(-1)).toContain('a name that is fa')
  expect(written.at(-1)).not.toContain('[2J')
  expect(status.clear()).toBe(true)
  expect(written.at(-1)).toBe('\r\u001b[K')
  expect(status.clear()).toBe(false)
  expect(clock.timers()).toBe(0)
})

it('CLI-1 draws nothing in a pipe', async () => {
  const { clock, written, status } = open(false)
  status.show('thinking')
  await clock.advance(5_000)
  expect(status.clear()).toBe(false)
  expect(written).toEqual([])
})
