import { z } from 'zod'
import { defineTool, failed, succeeded } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import { type AssetNeeds, actorOf } from './asset-needs.ts'
import type { LastSeen } from './last-seen.ts'

export function createFileEdit(needs: AssetNeeds, lastSeen: LastSeen): Tool {
  return defineTool({
    name: 'file_edit',
    description: 'Replace old, which must occur once, by new; with all, everywhere.',
    input: z.object({ path: z.string().min(1), old: z.string(), new: z.string(), all: z.boolean().optional() }),
    // What was replaced may hold what it replaced: a second time it would be another edit.
    effect: 'at-most-once',
    serial: true,
    core: true,
    reach: () => ({ kind: 'acts', destination: null }),
    async run(edit, context) {
      const edited = await needs.assets.edit(await actorOf(needs, context, edit.new), edit)
      if (!edited.ok) return failed(edited.message)
      lastSeen.set(context.sessionId, edited.uri, edited.etag)
      const places = edited.count === 1 ? '' : ` in ${edited.count} places`
      return succeeded(`Edited ${edited.path}${places}.`)
    },
  })
}
