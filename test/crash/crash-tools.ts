import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import type { ToolEffect } from '../../src/protocol/messages.ts'
import { defineTool, succeeded, type Tool } from '../../src/tools/tool.ts'
import { recordSideEffect } from './side-effect-ledger.ts'

const plans: { name: string; effect: ToolEffect; serial?: boolean }[] = [
  { name: 'charge', effect: 'at-most-once' },
  { name: 'fetch_page', effect: 'at-least-once' },
  { name: 'put_value', effect: 'idempotent' },
  { name: 'print_page', effect: 'at-most-once', serial: true },
]

export const crashToolNames = plans.map(({ name }) => name)

/** Tools of every effect. Each leaves a line in the ledger in the middle of its run, so that a kill falls before or after. */
export function createCrashTools(ledgerPath: string): Tool[] {
  return plans.map(({ name, effect, serial = false }) =>
    defineTool({
      name,
      description: `A tool of the crash suite, ${effect}.`,
      input: z.object({ operation: z.string() }),
      effect,
      serial,
      core: true,
      async run({ operation }, { callId, turnId }) {
        await wait(1)
        recordSideEffect(ledgerPath, { tool: name, effect, callId, turnId, operation })
        await wait(1)
        return succeeded(`${name}: ${operation}`)
      },
    }),
  )
}
