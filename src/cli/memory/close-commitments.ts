import type { CommitmentReply } from '../../protocol/fact-api.ts'
import type { CommandHandler } from '../command.ts'
import { withMemory } from './with-memory.ts'

export const closeCommitments: CommandHandler<{ ids: string[]; cancel?: boolean; reopen?: boolean }> = async (
  context,
  input,
) => {
  const { output } = context
  const state = input.cancel ? 'cancelled' : input.reopen ? 'open' : 'done'
  const closed = await withMemory(context, async (memory) => {
    const commitments: CommitmentReply[] = []
    for (const id of input.ids) commitments.push(await memory.editCommitment(id, { state }))
    return commitments
  })
  if (input.json) output.printJson({ commitments: closed })
  else for (const commitment of closed) output.print(`${words[commitment.state]}: ${commitment.what}`)
  return undefined
}

const words = { done: 'Done', open: 'Open again', cancelled: 'Called off', expired: 'Open again, and overdue' }
