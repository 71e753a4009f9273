import { sha256 } from '../../base/ids.ts'
import { canonicalJson } from '../../base/json.ts'
import type { EventOf, LoggedEvent } from './session-event.ts'

/** An event after which the conversation continues somewhere else in its log. */
export type Jump = EventOf<'rewound' | 'branch_chosen'>

export const jumpTypes = ['rewound', 'branch_chosen'] as const

export function isJump(event: LoggedEvent): event is Jump {
  return event.type === 'rewound' || event.type === 'branch_chosen'
}

/** A part of the log without a jump in it. It continues after the event `parent`; 0 is the start of the conversation. */
interface Segment {
  first: number
  through: number
  parent: number
}

export type Range = Pick<Segment, 'first' | 'through'>

/** The parts of a log up to the event `through`, in its order. */
function segmentsOf(jumps: readonly Jump[], through: number): Segment[] {
  const segments: Segment[] = [{ first: 1, through, parent: 0 }]
  for (const jump of jumps) {
    const last = segments.at(-1)
    if (jump.seq > through || !last) break
    last.through = jump.seq - 1
    const parent = jump.type === 'rewound' ? lastOn(rangesTo(segments, headOf(segments)), jump.toSeq) : jump.toSeq
    segments.push({ first: jump.seq + 1, through, parent })
  }
  return segments
}

/** The newest event of the conversation; 0 if it is empty. Directly after a jump that is the one jumped to. */
function headOf(segments: readonly Segment[]): number {
  const last = segments.at(-1)
  if (!last) return 0
  return last.through >= last.first ? last.through : last.parent
}

/** The positions of the conversation that ends with the event `head`, oldest first. */
function rangesTo(segments: readonly Segment[], head: number): Range[] {
  const ranges: Range[] = []
  let end = head
  while (end > 0) {
    const segment = segments.findLast(({ first }) => first <= end)
    if (!segment) break
    const through = Math.min(end, segment.through)
    if (through >= segment.first) ranges.push({ first: segment.first, through })
    end = segment.parent
  }
  return ranges.reverse()
}

/** The last position at or before `seq` on a path; 0 if there is none. */
function lastOn(ranges: readonly Range[], seq: number): number {
  const range = ranges.findLast(({ first }) => first <= seq)
  return range ? Math.min(seq, range.through) : 0
}

/** The part of a log that counts when its newest event is `through`: the chosen branch at each message. */
export function pathOf(jumps: readonly Jump[], through: number): Range[] {
  const segments = segmentsOf(jumps, through)
  return rangesTo(segments, headOf(segments))
}

export function isOn(path: readonly Range[], seq: number): boolean {
  return lastOn(path, seq) === seq && seq > 0
}

/** The ranges of `path` that are not on `other`. Both are paths through one log. */
export function withoutPath(path: readonly Range[], other: readonly Range[]): Range[] {
  return other.reduce<Range[]>(
    (left, { first, through }) =>
      left.flatMap((range) => {
        if (range.through < first || range.first > through) return [range]
        const before = { first: range.first, through: first - 1 }
        const after = { first: through + 1, through: range.through }
        return [before, after].filter((part) => part.first <= part.through)
      }),
    [...path],
  )
}

/** A turn and the position of its first message. */
export interface TurnPlace {
  turnId: string
  seq: number
}

/** The turns of a session as a tree: alternatives follow the same turn. */
export interface TurnTree {
  /** The conversation, as it is chosen. */
  path: Range[]
  /** The position that the turn continues after. */
  before(turn: TurnPlace): number
  /** The alternatives at the place of the turn, itself included, in the order of the log. */
  siblings(turn: TurnPlace): readonly TurnPlace[]
  /** The end of the newest conversation that the turn is part of. */
  leafOf(turn: TurnPlace): number
}

/** `turns`: those of the whole log, in its order. Removed branches are left out, unless they were chosen again. */
export function turnTree(jumps: readonly Jump[], turns: readonly TurnPlace[], lastSeq: number): TurnTree {
  const segments = segmentsOf(jumps, lastSeq)
  const segmentOf = (seq: number) => segments.findLast(({ first }) => first <= seq)
  const lastTurnUpTo = (seq: number, from = 0) => turns.findLast((turn) => turn.seq <= seq && turn.seq >= from)?.turnId

  function parentOf({ seq }: TurnPlace): string | undefined {
    let end = seq - 1
    let segment = segmentOf(seq)
    while (segment) {
      const found = lastTurnUpTo(Math.min(end, segment.through), segment.first)
      if (found !== undefined || segment.parent === 0) return found
      end = segment.parent
      segment = segmentOf(end)
    }
    return undefined
  }

  const parents = new Map(turns.map((turn) => [turn.turnId, parentOf(turn)]))
  const removed = new Set<string>()
  for (const jump of jumps) {
    if (jump.type !== 'branch_chosen') continue
    const chosen = rangesTo(segments, jump.toSeq)
    for (const turn of turns) if (isOn(chosen, turn.seq)) removed.delete(turn.turnId)
    if (jump.removed !== undefined) removed.add(jump.removed)
  }

  function descendsFrom(turnId: string, ancestor: string): boolean {
    for (let id: string | undefined = turnId; id !== undefined; id = parents.get(id)) {
      if (id === ancestor) return true
      if (removed.has(id)) return false
    }
    return false
  }

  return {
    path: rangesTo(segments, headOf(segments)),
    before({ seq }) {
      const segment = segmentOf(seq)
      return segment && segment.first === seq ? segment.parent : seq - 1
    },
    siblings: (turn) =>
      turns.filter(({ turnId }) => parents.get(turnId) === parents.get(turn.turnId) && !removed.has(turnId)),
    leafOf(turn) {
      const newest = turns.findLast(({ turnId }) => descendsFrom(turnId, turn.turnId)) ?? turn
      return segmentOf(newest.seq)?.through ?? newest.seq
    },
  }
}

/** The hash of the messages of a turn. An answer that is made again has the same. */
export function askedIn(messages: readonly EventOf<'message_received'>[]): string {
  return sha256(canonicalJson(messages.map(({ text, media }) => [text, ...media.map(({ hash }) => hash)])))
}
