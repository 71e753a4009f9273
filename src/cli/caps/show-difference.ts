import type { CommandHandler } from '../command.ts'
import type { Output } from '../output.ts'
import { withCaps } from './with-caps.ts'

/** `familiar caps diff NAME [FROM] [TO]`: what changed between two versions. */
export const showDifference: CommandHandler<{ name: string; from?: number; to?: number }> = async (context, input) => {
  const { output } = context
  const difference = await withCaps(context, (caps) => caps.diff(input.name, { from: input.from, to: input.to }))
  const { from, to, files } = difference
  if (input.json) output.printJson(difference)
  else if (files.length === 0) output.print(`v${from} and v${to} of ${input.name} are the same.`)
  else for (const { text } of files) for (const line of text.trimEnd().split('\n')) output.print(coloured(output, line))
  return undefined
}

function coloured(output: Output, line: string): string {
  if (line.startsWith('---') || line.startsWith('+++')) return output.style('bold', line)
  if (line.startsWith('@@')) return output.style('cyan', line)
  if (line.startsWith('+')) return output.style('green', line)
  return line.startsWith('-') ? output.style('red', line) : line
}
