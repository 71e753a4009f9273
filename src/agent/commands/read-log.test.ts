import { expect, it } from 'vitest'
import type { LoggedEvent } from '../sessions/session-event.ts'
import type { Session } from '../sessions/sessions.ts'
import { marksOf, readSessionLog } from './command.ts'

type Happened = { type: 'marked'; name: string } | { type: 'rewound'; toSeq: number }

function open(happened: readonly Happened[]) {
  const events = happened.map((event, index): LoggedEvent => ({ ...event, seq: index + 1, turnId: null, at: 0 }))
  const session: Session = {
    id: 'session',
    userId: 'max',
    channel: 'cli',
    contact: 'main',
    state: 'active',
    agent: 'main',
    model: null,
    mode: null,
    remembered: 1,
    lastSeq: events.length,
    lastInputTokens: 0,
    createdAt: 0,
    updatedAt: 0,
  }
  const reads: number[] = []
  const history = async (_user: string, _id: string, { after = 0 } = {}) => {
    reads.push(after)
    return events.slice(after)
  }
  return { reads, read: (enough: number) => readSessionLog({ history }, session, (found) => found.length >= enough) }
}

const marks = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ type: 'marked', name: `${index}` }) as const)

it('CMD-1 reads only as far back as it must', async () => {
  const { read, reads } = open(marks(50_000))
  expect(marksOf(await read(200))[0]).toBe('49999')
  expect(reads).toEqual([49_800])
  // However much is asked for, the newest is always there.
  expect(marksOf(await read(1_000_000)).slice(0, 1)).toEqual(['49999'])
  expect(reads.at(-1)).toBe(30_000)
})

it('CMD-1 leaves out rewound events, also those before the position at which it started to read', async () => {
  const { read } = open([...marks(1_000), { type: 'rewound', toSeq: 10 }, { type: 'marked', name: 'new' }])
  expect(marksOf(await read(5)).slice(0, 3)).toEqual(['new', '9', '8'])
})
