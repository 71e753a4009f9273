import { describe, expect, it } from 'vitest'
import { randomLog, seededRandom } from '../../../test/support/random-log.ts'
import { faultsOfHistory, textOfHistory } from '../../../test/support/valid-history.ts'
import { emptyProjection, fold, outcomeUnknown, project, toMessages } from './projection.ts'
import type { LoggedEvent } from './session-event.ts'

const everyTurn = { mediaOfTurn: null }

function userTexts(events: readonly LoggedEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'message_received' ? [event.text] : []))
}

function shuffled<T>(items: readonly T[], random: (below: number) => number): T[] {
  const result = [...items]
  for (let index = result.length - 1; index > 0; index -= 1) {
    const other = random(index + 1)
    const held = result[index] as T
    result[index] = result[other] as T
    result[other] = held
  }
  return result
}

describe('SESS-4 the log projects to the request of a model', () => {
  it('SESS-4 a whole log gives a history that every provider accepts', () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const log = randomLog(seededRandom(seed), 12)
      expect(faultsOfHistory(toMessages(project(log), everyTurn))).toEqual([])
    }
  })

  it('SESS-4 folding event by event equals projecting the whole', () => {
    const log = randomLog(seededRandom(7), 30)
    const step = emptyProjection()
    for (const event of log) fold(step, event)
    expect(step).toEqual(project(log))
  })

  it('SESS-4 a longer log only ever adds to the history of a shorter one', () => {
    const log = randomLog(seededRandom(11), 20)
    const turnEnds = log.flatMap((event, index) => (event.type === 'turn_ended' ? [index + 1] : []))
    let before = '['
    for (const end of turnEnds) {
      const now = JSON.stringify(toMessages(project(log.slice(0, end)), everyTurn))
      expect(now.startsWith(before.slice(0, -1))).toBe(true)
      before = now
    }
  })
})

describe('SESS-5 repair', () => {
  it('SESS-5 2,000 random truncations and reorderings stay valid and lose no user text', () => {
    for (let seed = 1; seed <= 2_000; seed += 1) {
      const random = seededRandom(seed)
      const log = randomLog(random, 1 + random(8))
      const cut = log.slice(random(3) === 0 ? random(log.length) : 0, random(log.length + 1))
      const damaged = random(2) === 0 ? shuffled(cut, random) : cut.filter(() => random(10) > 0)
      const messages = toMessages(project(damaged), everyTurn)
      expect(faultsOfHistory(messages), `seed ${seed}`).toEqual([])
      const told = textOfHistory(messages)
      for (const text of userTexts(damaged)) expect(told, `seed ${seed}`).toContain(text)
    }
  })

  it('SESS-5 a call without a result is answered with an unknown outcome', () => {
    const log = randomLog(seededRandom(3), 6)
    const lastStart = log.findLastIndex((event) => event.type === 'tool_started')
    const messages = toMessages(project(log.slice(0, lastStart + 1)), everyTurn)
    const last = messages.at(-1)
    expect(last?.role === 'tool' && last.results.some((result) => result.text === outcomeUnknown)).toBe(true)
  })
})

describe('LOOP-3 classification of responses', () => {
  it('LOOP-3 calls beside an end in the log of an older version are neither run nor replayed', () => {
    const log = randomLog(seededRandom(5), 40)
    const stray = log.some(
      (event) => event.type === 'model_responded' && event.stopReason === 'end' && event.parts.length > 1,
    )
    expect(stray).toBe(true)
    expect(JSON.stringify(toMessages(project(log), everyTurn))).not.toContain('stray-')
  })
})

describe('SESS-9 media', () => {
  it('SESS-9 an image is sent in its own turn and named afterwards', () => {
    const [message, start] = randomLog(seededRandom(2), 1)
    if (message?.type !== 'message_received' || !start) throw new Error('unexpected log')
    const media = { type: 'media' as const, hash: 'a'.repeat(64), mediaType: 'image/png', name: 'cat.png', bytes: 9 }
    const projection = project([{ ...message, media: [media] }])
    const now = toMessages(projection, { mediaOfTurn: 'turn-0' })[0]
    expect(now?.role === 'user' && now.parts.at(-1)).toEqual(media)
    const later = toMessages(projection, { mediaOfTurn: 'turn-1' })[0]
    expect(JSON.stringify(later)).toContain('attached earlier: cat.png')
  })
})

describe('SESS-8 rewinding', () => {
  it('SESS-8 entries after the mark are gone from the history and stay in the log', () => {
    const log = randomLog(seededRandom(9), 4)
    const firstEnd = log.findIndex((event) => event.type === 'turn_ended')
    const kept = log.slice(0, firstEnd + 1)
    const rewound: LoggedEvent = { type: 'rewound', toSeq: kept.length, seq: log.length + 1, turnId: null, at: 0 }
    const rewoundMessages = toMessages(project([...log, rewound]), everyTurn)
    expect(rewoundMessages).toEqual(toMessages(project(kept), everyTurn))
  })
})
