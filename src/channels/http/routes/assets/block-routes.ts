import type { Assets } from '../../../../assets/assets.ts'
import { blockUri } from '../../../../assets/blocks/block-label.ts'
import {
  assetHistoryReplySchema,
  assetReadReplySchema,
  assetsReplySchema,
  assetVersionReplySchema,
  assetWrittenReplySchema,
  blockEditRequestSchema,
  blockQuerySchema,
  blockRemoveQuerySchema,
  blocksQuerySchema,
  blockUndoRequestSchema,
  blockWriteRequestSchema,
} from '../../../../protocol/asset-api.ts'
import type { HttpContext } from '../../http-dependencies.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { actorOf, historyReply, listReply, orRefuse, readReply, versionReply, writtenReply } from './asset-reply.ts'

/** Blocks by their labels. No file is reached from here, whatever a label says (SEC-4). */
export function createBlockRoutes(assets: Assets): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/blocks',
      summary: 'The blocks, all of them or those under a folder.',
      auth: 'token',
      scope: 'read',
      query: blocksQuerySchema,
      reply: { status: 200, schema: assetsReplySchema },
      async handle({ context, query }) {
        return jsonReply(listReply(orRefuse(await assets.list(actorOf(context), { prefix: blockUri(query.prefix) }))))
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/blocks/:label',
      summary: 'One block, or some lines of it.',
      auth: 'token',
      scope: 'read',
      query: blockQuerySchema,
      reply: { status: 200, schema: assetReadReplySchema },
      async handle({ context, query }) {
        return jsonReply(readReply(orRefuse(await assets.read(actorOf(context), { path: pathOf(context), ...query }))))
      },
    }),
    defineRoute({
      method: 'PUT',
      path: '/api/v1/blocks/:label',
      summary: 'Write a block, as a whole. With an etag, only over what that is of.',
      auth: 'token',
      scope: 'owner',
      body: blockWriteRequestSchema,
      reply: { status: 200, schema: assetWrittenReplySchema },
      async handle({ context, body }) {
        const written = await assets.write(actorOf(context), { path: pathOf(context), ...body })
        return jsonReply(writtenReply(orRefuse(written)))
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/blocks/:label/edit',
      summary: 'Replace a passage of a block, which must occur once, or everywhere.',
      auth: 'token',
      scope: 'owner',
      body: blockEditRequestSchema,
      reply: { status: 200, schema: assetWrittenReplySchema },
      async handle({ context, body }) {
        const edited = await assets.edit(actorOf(context), { path: pathOf(context), ...body })
        return jsonReply(writtenReply(orRefuse(edited)))
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: '/api/v1/blocks/:label',
      summary: 'Delete a block. Its versions stay, and an undo brings it back.',
      auth: 'token',
      scope: 'owner',
      query: blockRemoveQuerySchema,
      reply: { status: 200, schema: assetWrittenReplySchema },
      async handle({ context, query }) {
        const removed = await assets.remove(actorOf(context), { path: pathOf(context), ...query })
        return jsonReply(writtenReply(orRefuse(removed)))
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/blocks/:label/history',
      summary: 'The versions of a block, newest first.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: assetHistoryReplySchema },
      async handle({ context }) {
        return jsonReply(historyReply(orRefuse(await assets.history(actorOf(context), { path: pathOf(context) }))))
      },
    }),
    defineRoute({
      method: 'GET',
      path: '/api/v1/blocks/:label/versions/:version',
      summary: 'What a version of a block held, as a whole.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: assetVersionReplySchema },
      async handle({ context }) {
        const history = orRefuse(await assets.history(actorOf(context), { path: pathOf(context) }))
        return jsonReply(versionReply(history, context.req.param('version') ?? ''))
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/blocks/:label/undo',
      summary: 'Put back the version before, or a certain one. An undo is undone like any change.',
      auth: 'token',
      scope: 'owner',
      body: blockUndoRequestSchema,
      reply: { status: 200, schema: assetWrittenReplySchema },
      async handle({ context, body }) {
        const undone = await assets.undo(actorOf(context), { path: pathOf(context), ...body })
        return jsonReply(writtenReply(orRefuse(undone)))
      },
    }),
  ]
}

function pathOf(context: HttpContext): string {
  return blockUri(context.req.param('label') ?? '')
}
