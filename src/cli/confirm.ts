import { createInterface } from 'node:readline/promises'
import { toDisplayText } from '../base/text.ts'
import type { CommandContext } from './command.ts'
import { interrupted, usageError } from './command-error.ts'

/** Asks before something that is not easily undone. Where nobody can answer, `--yes` must have been said. */
export async function confirm(
  context: CommandContext,
  question: string,
  options: { byDefault: boolean } = { byDefault: false },
): Promise<boolean> {
  const { stdin, stderr, signal } = context
  if (!stdin.isTTY || !stderr.isTTY) throw usageError('Nobody is there to be asked.', 'Say --yes to go on without.')
  // On stderr, so that what is piped away is only the answer.
  const prompt = createInterface({ input: stdin, output: stderr })
  try {
    const answer = await prompt.question(`${toDisplayText(question)} ${options.byDefault ? '[Y/n]' : '[y/N]'} `, {
      signal,
    })
    return answer.trim() === '' ? options.byDefault : /^y(es)?$/i.test(answer.trim())
  } catch (error) {
    // Ctrl-C or Ctrl-D at the question.
    if (error instanceof Error && error.name === 'AbortError') throw interrupted()
    throw error
  } finally {
    prompt.close()
  }
}
