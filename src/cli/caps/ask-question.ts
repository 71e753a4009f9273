import { toDisplayText } from '../../base/text.ts'

/**
 * Asks whoever sits at the terminal, under a question that is shown already; a secret is not seen while it is typed.
 * Undefined where they leave with Ctrl-C, or the signal takes the question away.
 */
export async function askQuestion(asked: {
  secret: string | null
  output: NodeJS.WriteStream
  signal: AbortSignal
}): Promise<string | undefined> {
  const { secret, output, signal } = asked
  const clack = await import('@clack/prompts')
  const options = {
    message: toDisplayText(secret ?? 'Your answer'),
    validate: (text: string | undefined) => (text === undefined || text.trim() === '' ? 'It is empty.' : undefined),
    output,
    signal,
  }
  const answer = secret === null ? await clack.text(options) : await clack.password(options)
  return typeof answer === 'symbol' ? undefined : answer.trim()
}
