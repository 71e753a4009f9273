import type { Clock } from '../base/clock.ts'
import { countWords } from '../memory/best-passage.ts'
import type { Commitment } from '../memory/commitments.ts'
import { contentWords } from '../memory/content-words.ts'
import type { FamiliarMemory } from '../memory/familiar-memory.ts'
import { showMemories } from '../tools/builtin/render-memories.ts'
import { showCommitment } from '../tools/builtin/show-commitment.ts'
import type { RecalledMemory } from './recalled-lines.ts'

const mostRecalled = 12
const mostDue = 5
/** What fits far worse than the best only costs tokens. */
const leastShare = 0.5
const mostOpen = 50
const soonMs = 7 * 24 * 60 * 60_000

/** What a turn begins with (MEM-5): promises of the user's that are due or spoken of, then what the message recalls. */
export type RecallForTurn = (query: {
  userId: string
  text: string
  /** Turns that the model has before its eyes: what was said there need not be recalled. */
  turnsInSight?: ReadonlySet<string | null>
}) => Promise<RecalledMemory[]>

export function createRecallForTurn(needs: {
  memory: Pick<FamiliarMemory, 'memories' | 'recall' | 'commitments' | 'files'>
  clock: Clock
  timeZone: string
}): RecallForTurn {
  const { memory, clock, timeZone } = needs
  const { memories, recall, commitments, files } = memory

  return async ({ userId, text, turnsInSight = new Set() }) => {
    if (!(await memories.hasAny(userId))) return []
    const recalled = await recall.recall({ userId, text, limit: 3 * mostRecalled })
    const least = leastShare * (recalled[0]?.score ?? 0)
    const found = recalled
      .filter(({ score }) => score >= least)
      .filter(({ memory }) => !(memory.kind === 'chunk' && turnsInSight.has(memory.turnId ?? '')))
      .slice(0, mostRecalled)
      .map(({ memory }) => memory)
    const due = await commitmentsFor(userId, text, new Set(found.map(({ id }) => id)))
    const told = new Set(due.map(({ id }) => id))
    const others = found.filter(({ id }) => !told.has(id))
    return [
      ...due.map((commitment) => ({ ...showCommitment(commitment, timeZone), isDue: true })),
      ...(await showMemories({ files }, userId, others)),
    ]
  }

  /** By deadline. What is overdue by more than a week is told only where it is spoken of. */
  async function commitmentsFor(userId: string, text: string, found: ReadonlySet<string>): Promise<Commitment[]> {
    if (!(await memories.hasAny(userId, 'commitment'))) return []
    const open = await commitments.list({ userId, states: ['open', 'expired'], who: 'user', limit: mostOpen })
    const words = contentWords(text)
    return open
      .filter(({ id, what, toWhom, deadline }) => {
        const isSoon = deadline !== null && Math.abs(deadline - clock.now()) <= soonMs
        return isSoon || found.has(id) || countWords(`${what} ${toWhom ?? ''}`, words) > 0
      })
      .toSorted((a, b) => (a.deadline ?? Number.POSITIVE_INFINITY) - (b.deadline ?? Number.POSITIVE_INFINITY))
      .slice(0, mostDue)
  }
}
