import { z } from 'zod'
import type { MemoryChange } from '../../memory/corrections.ts'
import { defineTool, failed } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import type { MemoryNeeds } from './memory-needs.ts'
import { renderMemory, showMemory, tellMemories } from './memory-text.ts'
import { consentToUndo } from './users-consent.ts'

const shownCharacters = 500
const lastChanges = 20
const oneChangeMs = 1_000

/** What the user had changed comes back on their word alone. */
export function createMemoryUndo({ corrections, timeZone }: Pick<MemoryNeeds, 'corrections' | 'timeZone'>): Tool {
  return defineTool({
    name: 'memory_undo',
    description: 'Undo the newest change to a memory: bring back what was forgotten or edited.',
    input: z.object({}),
    // A second run would undo the change before it.
    effect: 'at-most-once',
    async run(_input, context) {
      const [newest, ...earlier] = await corrections.changes(context.userId, lastChanges)
      if (!newest) return failed('There is no change that can be undone.')
      if (newest.madeBy === 'user' && !consentToUndo(context)) {
        return failed('The user had this changed, and has not asked to undo it.')
      }
      const undone = await corrections.undo(context.userId, newest.id)
      if (!undone) return failed('That change can no longer be undone.')
      for (const change of earlier.filter((other) => belongs(other, newest))) {
        await corrections.undo(context.userId, change.id)
      }
      const shown = showMemory(undone.before)
      const text = renderMemory({ ...shown, text: shown.text.slice(0, shownCharacters).toWellFormed() }, timeZone)
      return tellMemories(`${undone.action === 'forgotten' ? 'Brought back' : 'As before'}:\n${text}`, [shown])
    },
  })
}

/** What repeats a memory is changed with it in the same moment; all of that comes back together. */
function belongs(other: MemoryChange, newest: MemoryChange): boolean {
  return (
    other.action === newest.action && other.madeBy === newest.madeBy && Math.abs(newest.at - other.at) <= oneChangeMs
  )
}
