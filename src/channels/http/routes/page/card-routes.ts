import { frameDocument } from '../../../../cards/frame-document.ts'
import {
  type CardDocumentReply,
  cardDocumentReplySchema,
  cardDocumentRequestSchema,
} from '../../../../protocol/page-api.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'

/** Cards that are in no conversation: those of a tool or capability that was run by hand. Nothing is kept. */
export function createCardRoutes(): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/api/v1/page/card',
      summary: 'A card as the document of a frame without rights.',
      auth: 'token',
      scope: 'chat',
      body: cardDocumentRequestSchema,
      reply: { status: 200, schema: cardDocumentReplySchema },
      handle: ({ body }) => jsonReply({ document: frameDocument(body) } satisfies CardDocumentReply),
    }),
  ]
}
