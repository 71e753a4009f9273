import { describe, expect, it } from 'vitest'
import { randomLog, seededRandom } from '../../../test/support/random-log.ts'
import { faultsOfHistory } from '../../../test/support/valid-history.ts'
import { planCompaction, transcriptOf } from '../compaction.ts'
import { fold, project, toMessages } from './projection.ts'
import type { LoggedEvent } from './session-event.ts'

function compacted(seq: number, throughSeq: number): LoggedEvent {
  return {
    type: 'compacted',
    throughSeq,
    summary: 'what was said',
    messages: 1,
    beforeTokens: 1,
    seq,
    turnId: null,
    at: 0,
  }
}

describe('SESS-7 positions at which a conversation may be cut', () => {
  it('SESS-7 1,000 random histories compact without splitting a pair or an exchange', () => {
    let planned = 0
    for (let seed = 1; seed <= 1_000; seed += 1) {
      const random = seededRandom(seed)
      const log = randomLog(random, 1 + random(12))
      const projection = project(log)
      const plan = planCompaction(projection, 2 / 3)
      if (!plan) continue
      planned += 1
      const before = projection.entries.length
      const turnsBefore = new Set(plan.entries.map((entry) => entry.turnId))
      fold(projection, compacted(log.length + 1, plan.throughSeq))
      expect(projection.entries).toHaveLength(before - plan.entries.length + 1)
      expect(projection.entries.slice(1).some((entry) => turnsBefore.has(entry.turnId))).toBe(false)
      const messages = toMessages(projection, { mediaOfTurn: null })
      expect(faultsOfHistory(messages), `seed ${seed}`).toEqual([])
      expect(JSON.stringify(messages)).not.toContain('Outcome unknown')
    }
    expect(planned).toBeGreaterThan(500)
  })

  it('SESS-7 the newest exchange stays and fewer than four entries are left alone', () => {
    const short = project(randomLog(seededRandom(1), 1))
    expect(planCompaction(short, 2 / 3)).toBeUndefined()
    const long = project(randomLog(seededRandom(1), 9))
    const plan = planCompaction(long, 0.99)
    expect(plan?.entries.length).toBeLessThan(long.entries.length)
  })

  it('SESS-7 the transcript contains messages and tool calls', () => {
    const projection = project(randomLog(seededRandom(4), 9))
    const plan = planCompaction(projection, 2 / 3)
    if (!plan) throw new Error('nothing to compact')
    const transcript = transcriptOf(plan, projection).join('\n\n')
    expect(transcript).toContain('User:\ntext 1')
    expect(transcript).toMatch(/\[called look with .*; result: /)
    expect(transcript).not.toContain('why ')
  })
})
