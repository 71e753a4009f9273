import type { CommandContext } from './command.ts'
import { createOutput } from './output.ts'

/** Prints values one to a line, on a terminal too: a stream of them is for programs. */
export function jsonLines({ stdout, stderr, env }: CommandContext): (value: unknown) => void {
  return createOutput({ stdout: { write: (text) => stdout.write(text) }, stderr, env }).printJson
}
