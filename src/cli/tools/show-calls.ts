import type { CommandHandler } from '../command.ts'
import { printCalls } from '../print-calls.ts'
import { withTools } from './with-tools.ts'

/** `familiar tools logs NAME`. */
export const showCalls: CommandHandler<{ name: string; limit: number }> = async (context, { name, limit, json }) => {
  const calls = await withTools(context, (tools) => tools.calls(name, Math.min(500, limit)))
  printCalls(context.output, name, { calls, json })
  return undefined
}
