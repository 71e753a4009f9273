import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isOn, type Jump, pathOf, type TurnPlace, turnTree, withoutPath } from './branches.ts'

type Step = { kind: 'turn' } | { kind: 'back' | 'choose'; place: number }

/** The same log as a plain tree: each event knows the one before it. */
function grow(steps: readonly Step[]) {
  const parents = new Map<number, number>()
  const jumps: Jump[] = []
  const turns: TurnPlace[] = []
  let head = 0
  let seq = 0
  const pathTo = (end: number) => {
    const path: number[] = []
    for (let at = end; at > 0; at = parents.get(at) ?? 0) path.unshift(at)
    return path
  }
  for (const step of steps) {
    seq += 1
    if (step.kind === 'turn') {
      turns.push({ turnId: `turn-${seq}`, seq })
      for (const next of [seq, seq + 1]) {
        parents.set(next, head)
        head = next
      }
      seq += 1
      continue
    }
    const places = step.kind === 'back' ? pathTo(head) : [...parents.keys()]
    const ends = [0, ...places.filter((place) => !turns.some((turn) => turn.seq === place))]
    const toSeq = ends[step.place % ends.length] ?? 0
    const type = step.kind === 'back' ? 'rewound' : 'branch_chosen'
    jumps.push({ type, toSeq, seq, turnId: null, at: 0 })
    head = toSeq
  }
  return { jumps, turns, lastSeq: seq, path: pathTo(head), pathTo, parents }
}

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<Step>({ kind: 'turn' }) },
    fc.record({ kind: fc.constantFrom<'back' | 'choose'>('back', 'choose'), place: fc.nat(60) }),
  ),
  { maxLength: 40 },
)

const seqsOf = (ranges: readonly { first: number; through: number }[]) =>
  ranges.flatMap(({ first, through }) => Array.from({ length: through - first + 1 }, (_, index) => first + index))

describe('the path through a log with branches', () => {
  it('SESS-11 is the chain of events from the start to the newest one, after any jumps', () => {
    fc.assert(
      fc.property(steps, (taken) => {
        const log = grow(taken)
        const path = pathOf(log.jumps, log.lastSeq)
        expect(seqsOf(path)).toEqual(log.path)
        for (let seq = 1; seq <= log.lastSeq; seq += 1) expect(isOn(path, seq)).toBe(log.path.includes(seq))
      }),
    )
  })

  it('SESS-11 was the same at each earlier position of the log', () => {
    fc.assert(
      fc.property(steps, fc.nat(40), (taken, count) => {
        const whole = grow(taken)
        const part = grow(taken.slice(0, count))
        expect(seqsOf(pathOf(whole.jumps, part.lastSeq))).toEqual(part.path)
        const left = withoutPath(pathOf(whole.jumps, part.lastSeq), pathOf(whole.jumps, whole.lastSeq))
        expect(seqsOf(left)).toEqual(part.path.filter((seq) => !whole.path.includes(seq)))
      }),
    )
  })

  it('SESS-11 turns that follow the same turn are alternatives, and each leads to the end of its newest conversation', () => {
    fc.assert(
      fc.property(steps, (taken) => {
        const log = grow(taken)
        const tree = turnTree(log.jumps, log.turns, log.lastSeq)
        for (const turn of log.turns) {
          const before = log.pathTo(log.parents.get(turn.seq) ?? 0)
          expect(tree.before(turn)).toBe(log.parents.get(turn.seq))
          const alternatives = log.turns.filter(({ seq }) => log.parents.get(seq) === log.parents.get(turn.seq))
          expect(tree.siblings(turn)).toEqual(alternatives)
          const later = log.turns.filter(({ seq }) => log.pathTo(seq).includes(turn.seq))
          expect(tree.leafOf(turn)).toBe((later.at(-1)?.seq ?? 0) + 1)
          expect(before).not.toContain(turn.seq)
        }
      }),
    )
  })
})
