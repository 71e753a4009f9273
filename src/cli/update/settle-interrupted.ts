import { isSameProcess } from '../../daemon/process-identity.ts'
import type { CommandContext } from '../command.ts'
import { CommandError } from '../command-error.ts'
import { goBack } from './change-program.ts'
import { answersStatus } from './check-program.ts'
import type { ProgramChange } from './program-change.ts'
import { readJournal, removeJournal } from './update-journal.ts'

/**
 * Brings an update that was cut off to an end: forward where the new version is in place and healthy, otherwise back.
 * Returns what was done, or undefined where there was nothing to do.
 */
export async function settleInterrupted(
  context: CommandContext,
  { version, changeFrom }: { version: string; changeFrom(versions: { from: string; to: string }): ProgramChange },
): Promise<string | undefined> {
  const { homePath: home, env, signal } = context
  const journal = readJournal(home)
  if (!journal) return undefined
  const { from, to, phase, snapshot } = journal
  if (isSameProcess(journal.pid, journal.identity)) {
    throw new CommandError(`Process ${journal.pid} is updating Familiar.`, {
      code: 'locked',
      hint: 'Wait for its end.',
    })
  }
  const change = changeFrom({ from, to })
  const isChanged = version === to && to !== from
  const healthy =
    phase === 'changing' && (await answersStatus({ command: change.command, home, env, signal }, version)).ok
  if (phase !== 'trying' && !healthy) await goBack(context, change, { snapshot, keepsNewer: true })
  await change.finish()
  await removeJournal(home)
  if (phase === 'trying') return `The update to ${to} was cut off before it changed anything.`
  return healthy && isChanged
    ? `The update to ${to}, which was cut off, is complete.`
    : `The update to ${to}, which was cut off, was undone.`
}
