import type { CommandHandler } from '../command.ts'
import { printCalls } from '../print-calls.ts'
import { withCaps } from './with-caps.ts'

/** `familiar caps logs NAME`. */
export const showCapabilityCalls: CommandHandler<{ name: string; limit: number }> = async (
  context,
  { name, limit, json },
) => {
  const calls = await withCaps(context, (caps) => caps.calls(name, Math.min(500, limit)))
  printCalls(context.output, name, { calls, json })
  return undefined
}
