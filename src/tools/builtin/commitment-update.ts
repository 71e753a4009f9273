import { z } from 'zod'
import { endOfDay, parseDay } from '../../base/calendar.ts'
import type { Commitment } from '../../memory/commitments.ts'
import { readDeadline } from '../../memory/learning/read-deadline.ts'
import { FamiliarError } from '../../protocol/error.ts'
import { defineTool, failed } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import { noSuchMemory, readMemoryId, renderMemory, tellMemories } from './memory-text.ts'
import { showCommitment } from './show-commitment.ts'
import { originOf } from './users-words.ts'

export function createCommitmentUpdate(needs: Pick<MemoryNeeds, 'commitments' | 'clock' | 'timeZone'>): Tool {
  const { commitments, clock, timeZone } = needs
  return defineTool({
    name: 'commitment_update',
    description:
      'Close or change a promise, debt or task by its id; or add one: who owes what to whom ("user" for the user). deadline: a date, or none.',
    input: z.object({
      id: z.string().optional(),
      state: z.enum(['open', 'done', 'cancelled']).optional(),
      deadline: z.string().optional(),
      who: z.string().optional(),
      what: z.string().optional(),
      to: z.string().optional(),
    }),
    effect: 'idempotent',
    async run({ id, state, deadline, who, what, to }, context) {
      const { userId, sessionId, turnId } = context
      const due = deadline === undefined ? undefined : readDue(deadline)
      if (id !== undefined) {
        const change = { ...(state && { state }), ...(due !== undefined && { deadline: due }) }
        const updated = await commitments.update(userId, readMemoryId(id), change)
        return updated ? tellMemories(render(updated), [updated]) : failed(noSuchMemory(id))
      }
      if (who === undefined || what === undefined) return failed('Give the id of a commitment, or who owes what.')
      const written = context.seen.untrusted ? [who, to ?? '', what].join(' ') : what
      const origin = { userId, sessionId, turnId, ...originOf(written, context) }
      const added = await commitments.add({ ...origin, who, what, toWhom: to, deadline: due ?? undefined })
      const known = added.isNew && state && state !== 'open'
      const updated = known ? await commitments.update(userId, added.commitment.id, { state }) : undefined
      const commitment = updated ?? added.commitment
      return tellMemories(`${added.isNew ? 'Noted' : 'Known'} ${render(commitment)}`, [commitment])
    },
  })

  /** The end of that day; null for none. */
  function readDue(text: string): number | null {
    if (['', 'none', 'null', 'no'].includes(text.trim().toLowerCase())) return null
    const day = parseDay(text) ?? readDeadline(text.trim(), clock.now(), timeZone)?.day
    if (!day) throw new FamiliarError('bad_request', 'The deadline could not be read. Write it as 2026-11-30.')
    return endOfDay(day, timeZone)
  }

  function render(commitment: Commitment): string {
    return renderMemory(showCommitment(commitment, timeZone), timeZone)
  }
}
