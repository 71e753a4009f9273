import { z } from 'zod'
import { defineTool, failed } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import { type AssetNeeds, actorOf } from './asset-needs.ts'
import type { LastSeen } from './last-seen.ts'

export function createFileRead(needs: AssetNeeds, lastSeen: LastSeen): Tool {
  return defineTool({
    name: 'file_read',
    description: 'Read a file of the workspace, or a block: familiar:///blocks/x.md.',
    input: z.object({
      path: z.string().min(1),
      offset: z.int().min(1).optional().describe('first line'),
      limit: z.int().min(1).optional().describe('lines'),
    }),
    effect: 'idempotent',
    core: true,
    async run({ path, offset, limit }, context) {
      const read = await needs.assets.read(await actorOf(needs, context), { path, offset, limit })
      if (!read.ok) return failed(read.message)
      lastSeen.set(context.sessionId, read.uri, read.etag)
      const text = read.lines === 0 ? `[${read.path} is empty]` : read.text
      return {
        text: read.note === null ? text : `${text}${text.endsWith('\n') ? '' : '\n'}${read.note}`,
        isError: false,
        isPrivate: true,
        label: read.trust,
      }
    },
  })
}
