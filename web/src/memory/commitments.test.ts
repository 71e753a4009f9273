import { describe, expect, it } from 'vitest'
import type { CommitmentReply } from '../../../src/protocol/memory.ts'
import { byDue, dueOf, showDeadline } from './commitments.tsx'

const now = new Date(2026, 10, 15, 12)
const at = (day: number, hour = 12) => new Date(2026, 10, day, hour).toISOString()

describe('dueOf', () => {
  it.each([
    ['open', at(14), 'overdue'],
    ['expired', at(14), 'overdue'],
    ['open', at(15, 23), 'today'],
    ['open', at(16), 'soon'],
    ['open', at(30), 'later'],
    ['open', null, 'none'],
    ['done', at(14), 'closed'],
    ['cancelled', null, 'closed'],
  ] as const)('PAGE-6 %s with the deadline %s is %s', (state, deadline, due) => {
    expect(dueOf({ state, deadline }, now)).toBe(due)
  })
})

it('PAGE-6 a deadline that is only a day is shown without a time', () => {
  expect(showDeadline(new Date(2026, 10, 15, 23, 59, 59).toISOString())).toBe('Nov 15, 2026')
  expect(showDeadline(new Date(2026, 10, 15, 9, 30).toISOString())).toMatch(/^Nov 15, 2026, 9:30\sAM$/)
  expect(showDeadline('soon')).toBe('soon')
})

describe('byDue', () => {
  it('PAGE-6 starts with the most urgent', () => {
    const commitment = (id: string, deadline: string | null, state = 'open') =>
      ({ id, deadline, state }) as CommitmentReply
    const groups = byDue(
      [commitment('a', null), commitment('b', at(14)), commitment('c', at(12)), commitment('d', at(1), 'done')],
      now,
    )
    expect(groups.map(({ due, commitments }) => [due, commitments.map(({ id }) => id)])).toEqual([
      ['overdue', ['c', 'b']],
      ['none', ['a']],
      ['closed', ['d']],
    ])
  })
})
