import type { SyncReport } from '../../../../memory/files/sync-files.ts'
import { emptyRequestSchema } from '../../../../protocol/api.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import { type RemovedReply, removedReplySchema } from '../../../../protocol/fact-api.ts'
import {
  type AddedRootReply,
  addedRootReplySchema,
  type RootsReply,
  rootQuerySchema,
  rootRequestSchema,
  rootsReplySchema,
  type SyncProgressReply,
  type SyncReply,
  syncReplySchema,
} from '../../../../protocol/memory-upkeep-api.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpDependencies } from '../../http-dependencies.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import type { StreamReply } from '../../stream-reply.ts'
import { progressReply } from './progress-reply.ts'

const rootsPath = '/api/v1/memories/roots'

/** The files and folders whose passages are memories. */
export function createFileRoutes(
  { memory: { files }, followFiles }: HttpDependencies,
  streamReply: StreamReply,
): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: rootsPath,
      summary: 'The indexed files and folders, and what the last sync found.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: rootsReplySchema },
      async handle({ context }) {
        const { userId } = callerOf(context)
        const roots = await files.roots(userId)
        const last = files.lastReport(userId)
        const reply: RootsReply = {
          roots: roots.map((root) => ({ ...rootReply(root), files: root.files })),
          last_sync: last ? syncReply(last) : null,
        }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: rootsPath,
      summary: 'Add a file or folder to the index. It is read with the next sync.',
      auth: 'token',
      scope: 'owner',
      // It names a path (SEC-4).
      isLocal: true,
      body: rootRequestSchema,
      reply: { status: 201, schema: addedRootReplySchema },
      async handle({ context, body }) {
        const added = await files.addRoot(callerOf(context).userId, body.path)
        if (!added.ok) {
          if (added.reason === 'forbidden') throw new FamiliarError('forbidden', added.message)
          throw new FamiliarError('bad_request', `path: ${added.message}`)
        }
        const reply: AddedRootReply = { root: rootReply(added.root), is_new: added.isNew }
        return jsonReply(reply, { status: 201 })
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: rootsPath,
      summary: 'Take a file or folder out of the index, with all passages of it. The files themselves stay.',
      auth: 'token',
      scope: 'owner',
      query: rootQuerySchema,
      reply: { status: 200, schema: removedReplySchema },
      async handle({ context, query }) {
        const { userId } = callerOf(context)
        if (!(await files.removeRoot(userId, query.path))) {
          throw new FamiliarError('not_found', `${query.path} is not indexed, or belongs to the workspace`)
        }
        followFiles(userId)
        return jsonReply({ removed: true } satisfies RemovedReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/memories/sync',
      summary:
        'Bring the index up to what is on the disk; with "Accept: text/event-stream" it tells how far it is. What is done stays when it is stopped.',
      auth: 'token',
      scope: 'owner',
      body: emptyRequestSchema,
      reply: { status: 200, schema: syncReplySchema, events: true },
      async handle({ context }) {
        const { userId } = callerOf(context)
        return progressReply<SyncProgressReply, SyncReply>(context, streamReply, async (job) => {
          const report = await files.sync(userId, job)
          if (report.isFinished) followFiles(userId)
          return syncReply(report)
        })
      },
    }),
  ]
}

function rootReply({ path, isWorkspace }: { path: string; isWorkspace: boolean }): AddedRootReply['root'] {
  return { path, is_workspace: isWorkspace }
}

function syncReply(report: SyncReport): SyncReply {
  const { files, added, changed, removed, passages, skipped } = report
  const roots = report.roots.map(({ path, isWorkspace, ...state }) => ({
    ...rootReply({ path, isWorkspace }),
    ...state,
  }))
  return {
    is_finished: report.isFinished,
    files,
    added,
    changed,
    removed,
    passages,
    roots,
    skipped: { counts: { ...skipped.counts }, examples: skipped.examples },
  }
}
