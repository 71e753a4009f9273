import { inspect } from 'node:util'
import { FamiliarError } from '../protocol/error.ts'
import { CommandError, exitCodes } from './command-error.ts'
import type { Output } from './output.ts'

/** For people on stderr; with `--json` also on stdout, so that a script never has to read prose. */
export function reportError(error: unknown, options: { output: Output; json: boolean; debug: boolean }): void {
  const { output } = options
  const { message, code, hint } = describe(error)
  if (options.json) output.printJson({ error: message, code, ...(hint && { hint }) })
  if (message) output.fail(message, hint, exitCodes.failed)
  if (options.debug) output.note(inspect(error))
}

function describe(error: unknown): { message: string; code: string; hint?: string | undefined } {
  if (error instanceof CommandError) return error
  if (error instanceof FamiliarError) return { message: error.message, code: error.code }
  const message = error instanceof Error ? error.message : String(error)
  return { message, code: 'internal', hint: 'This should not happen. FAMILIAR_LOG=debug shows where it came from.' }
}
