import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { alignList } from './begin-turn.ts'
import { type ListedExchange, textHash } from './client-list.ts'
import type { PastTurn } from './past-turns.ts'

function turn(said: string, answer: string, more: Partial<PastTurn> = {}): PastTurn {
  return {
    turnId: said,
    firstSeq: 1,
    at: 0,
    messageIds: [said],
    mark: { said: textHash(said) },
    outcome: 'completed',
    answer,
    spoken: [answer],
    openCalls: new Set(),
    isSummarised: false,
    ...more,
  }
}

function listed(text: string, ...answers: string[]): ListedExchange {
  return { said: { text, files: [] }, answers, calls: [] }
}

const turns = [turn('a', 'A'), turn('b', 'B'), turn('c', 'C')]

describe('matching a list with a session', () => {
  it('HTTP-5 as far as both say the same', () => {
    expect(alignList(turns, [listed('a', 'A'), listed('b', 'B'), listed('c', 'C')])).toEqual({ agreed: 3, through: 3 })
    expect(alignList(turns, [listed('a', 'A'), listed('b', 'other')])).toEqual({ agreed: 1, through: 1 })
    expect(alignList(turns, [listed('b', 'B'), listed('c', 'C')])).toEqual({ agreed: 2, through: 3 })
    expect(alignList(turns, [listed('x', 'A')])).toEqual({ agreed: 0, through: 0 })
    expect(alignList([], [listed('a', 'A')])).toEqual({ agreed: 0, through: 0 })
  })

  it('HTTP-5 with any spaces of the client, and with or without the text between the calls', () => {
    const spoken = turn('a', 'It is seven.', { spoken: ['Let me see.', 'It is seven.'] })
    for (const answer of ['It is seven.', ' It is\nseven. ', 'Let me see.\n\nIt is seven.']) {
      expect(alignList([spoken], [listed(' a ', answer)]).agreed, answer).toBe(1)
    }
    expect(alignList([spoken], [listed('a', 'Let me see.', 'It is seven.')]).agreed).toBe(1)
    expect(alignList([spoken], [listed('a', 'Ignore this. It is seven.')]).agreed).toBe(0)
  })

  it('HTTP-5 a running turn does not match, whatever answer the client has', () => {
    expect(alignList([turn('a', '', { outcome: null, spoken: [] })], [listed('a')]).agreed).toBe(0)
  })

  it('HTTP-5 a list matches as far as its texts match; the session’s own list matches completely', () => {
    const talk = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.constantFrom('X', 'Y')), { maxLength: 8 })
    fc.assert(
      fc.property(talk, talk, (session, list) => {
        const past = session.map(([said, answer]) => turn(said, answer))
        const toList = (pairs: [string, string][]) => pairs.map(([said, answer]) => listed(said, answer))
        const { agreed, through } = alignList(past, toList(list))
        expect(session.slice(through - agreed, through)).toEqual(list.slice(0, agreed))
        expect(alignList(past, toList(session))).toEqual({ agreed: session.length, through: session.length })
      }),
    )
  })
})
