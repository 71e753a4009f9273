import type { Assets } from '../../../../assets/assets.ts'
import {
  assetHistoryReplySchema,
  assetReadReplySchema,
  assetsReplySchema,
  assetWrittenReplySchema,
  fileEditRequestSchema,
  fileHistoryRequestSchema,
  fileListRequestSchema,
  fileReadRequestSchema,
  fileUndoRequestSchema,
  fileWriteRequestSchema,
} from '../../../../protocol/asset-api.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { actorOf, historyReply, listReply, orRefuse, readReply, writtenReply } from './asset-reply.ts'

/** Files and blocks by their paths, for the command line of this machine alone: no token names a path (SEC-4). */
export function createLocalFileRoutes(assets: Assets): Route[] {
  const local = { method: 'POST', auth: 'token', scope: 'owner', isLocal: true } as const
  return [
    defineRoute({
      ...local,
      path: '/api/v1/local/files/read',
      summary: 'Some lines of a file or block.',
      body: fileReadRequestSchema,
      reply: { status: 200, schema: assetReadReplySchema },
      async handle({ context, body }) {
        return jsonReply(readReply(orRefuse(await assets.read(actorOf(context), body))))
      },
    }),
    defineRoute({
      ...local,
      path: '/api/v1/local/files/write',
      summary: 'Write a file or block, as a whole.',
      body: fileWriteRequestSchema,
      reply: { status: 200, schema: assetWrittenReplySchema },
      async handle({ context, body }) {
        return jsonReply(writtenReply(orRefuse(await assets.write(actorOf(context), body))))
      },
    }),
    defineRoute({
      ...local,
      path: '/api/v1/local/files/edit',
      summary: 'Replace a passage of a file or block.',
      body: fileEditRequestSchema,
      reply: { status: 200, schema: assetWrittenReplySchema },
      async handle({ context, body }) {
        return jsonReply(writtenReply(orRefuse(await assets.edit(actorOf(context), body))))
      },
    }),
    defineRoute({
      ...local,
      path: '/api/v1/local/files/list',
      summary: 'What lies under a folder of files or blocks.',
      body: fileListRequestSchema,
      reply: { status: 200, schema: assetsReplySchema },
      async handle({ context, body }) {
        return jsonReply(listReply(orRefuse(await assets.list(actorOf(context), { prefix: body.path }))))
      },
    }),
    defineRoute({
      ...local,
      path: '/api/v1/local/files/history',
      summary: 'The versions of a file or block, newest first.',
      body: fileHistoryRequestSchema,
      reply: { status: 200, schema: assetHistoryReplySchema },
      async handle({ context, body }) {
        return jsonReply(historyReply(orRefuse(await assets.history(actorOf(context), body))))
      },
    }),
    defineRoute({
      ...local,
      path: '/api/v1/local/files/undo',
      summary: 'Put back the version before of a file or block, or a certain one.',
      body: fileUndoRequestSchema,
      reply: { status: 200, schema: assetWrittenReplySchema },
      async handle({ context, body }) {
        return jsonReply(writtenReply(orRefuse(await assets.undo(actorOf(context), body))))
      },
    }),
  ]
}
