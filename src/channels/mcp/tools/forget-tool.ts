import { z } from 'zod'
import { noSuchMemory, readMemoryId } from '../../../tools/builtin/memory-text.ts'
import type { McpCaller } from '../mcp-caller.ts'
import type { McpNeeds } from '../mcp-needs.ts'
import { defineMcpTool, type McpTool } from '../mcp-tool.ts'

/** `forget`: with the whole say of the user behind it, so that also what they wrote themself can go. */
export function createForgetTool({ memory }: Pick<McpNeeds, 'memory'>, { userId }: McpCaller): McpTool {
  return defineMcpTool({
    name: 'forget',
    title: 'Forget',
    description:
      'Forget one memory by its id, with what merely repeats it. It can be brought back for 30 days; the answer says how.',
    scope: 'owner',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({ id: z.string().trim().min(1).max(200).describe('as recall gives it') }),
    output: z.object({ id: z.string(), also_forgotten: z.array(z.string()), change_id: z.string(), undo: z.string() }),
    async run({ id: named }) {
      const known = await memory.memories.get(userId, readMemoryId(named))
      const outcome = known && (await memory.corrections.forget(userId, known.id, 'user'))
      if (!outcome?.ok) return { refusal: noSuchMemory(named) }
      const { changeId } = outcome
      const also = outcome.alsoForgotten.map(({ id }) => id)
      const undo = `familiar memory undo ${changeId}`
      const more = also.length > 0 ? ` with ${also.length} that repeated it` : ''
      return {
        text: `Forgotten${more}. To bring it back within 30 days: ${undo}`,
        data: { id: outcome.memory.id, also_forgotten: also, change_id: changeId, undo },
      }
    },
  })
}
