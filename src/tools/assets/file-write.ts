import { z } from 'zod'
import type { Assets } from '../../assets/assets.ts'
import { defineTool, failed, succeeded } from '../define-tool.ts'
import type { Tool } from '../tool.ts'
import { type AssetNeeds, actorOf } from './asset-needs.ts'
import type { LastSeen } from './last-seen.ts'

/** What a session has read and somebody else has changed since is not overwritten: it is told to read it again. */
export function createFileWrite(needs: AssetNeeds & { assets: Pick<Assets, 'stat'> }, lastSeen: LastSeen): Tool {
  return defineTool({
    name: 'file_write',
    description: 'Write a whole file or block.',
    input: z.object({ path: z.string().min(1), content: z.string() }),
    effect: 'idempotent',
    serial: true,
    core: true,
    reach: () => ({ kind: 'acts', destination: null }),
    async run({ path, content }, context) {
      const { sessionId } = context
      const actor = await actorOf(needs, context, content)
      const there = await needs.assets.stat(actor, { path })
      const etag = there.ok ? lastSeen.get(sessionId, there.uri) : undefined
      const written = await needs.assets.write(actor, { path, content, etag })
      if (!written.ok) return failed(written.message)
      lastSeen.set(sessionId, written.uri, written.etag)
      if (!written.isChanged) return succeeded(`${written.path} says that already.`)
      return succeeded(written.isNew ? `Wrote ${written.path} (new).` : `Wrote ${written.path}.`)
    },
  })
}
