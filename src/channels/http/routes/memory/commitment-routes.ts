import { endOfDay, parseDay } from '../../../../base/calendar.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import {
  type AddedCommitmentReply,
  addedCommitmentReplySchema,
  type CommitmentsReply,
  commitmentEditRequestSchema,
  commitmentReplySchema,
  commitmentRequestSchema,
  commitmentsQuerySchema,
  commitmentsReplySchema,
} from '../../../../protocol/fact-api.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpDependencies } from '../../http-dependencies.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { commitmentReply } from './memory-reply.ts'

/** What someone has promised. */
export function createCommitmentRoutes({ memory: { commitments }, timeZone }: HttpDependencies): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/memories/commitments',
      summary: 'Commitments, the open ones first, by deadline.',
      auth: 'token',
      scope: 'read',
      query: commitmentsQuerySchema,
      reply: { status: 200, schema: commitmentsReplySchema },
      async handle({ context, query }) {
        const { state, who, to_whom: toWhom, limit } = query
        const found = await commitments.list({
          userId: callerOf(context).userId,
          limit,
          ...(state && { states: [state] }),
          ...(who !== undefined && { who }),
          ...(toWhom !== undefined && { toWhom }),
        })
        return jsonReply({ commitments: found.map(commitmentReply) } satisfies CommitmentsReply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/api/v1/memories/commitments',
      summary: 'Remember what somebody has promised. The same promise twice is one.',
      auth: 'token',
      scope: 'owner',
      body: commitmentRequestSchema,
      reply: { status: 201, schema: addedCommitmentReplySchema },
      async handle({ context, body }) {
        const { what, who, to_whom: toWhom, deadline } = body
        const { commitment, isNew } = await commitments.add({
          userId: callerOf(context).userId,
          what,
          who,
          toWhom,
          deadline: deadline === undefined ? undefined : dueAt(deadline, timeZone),
          source: 'user',
        })
        const reply: AddedCommitmentReply = { commitment: commitmentReply(commitment), is_new: isNew }
        return jsonReply(reply, { status: 201 })
      },
    }),
    defineRoute({
      method: 'PATCH',
      path: '/api/v1/memories/commitments/:id',
      summary: 'Close a commitment, open it again, or move its deadline.',
      auth: 'token',
      scope: 'owner',
      body: commitmentEditRequestSchema,
      reply: { status: 200, schema: commitmentReplySchema },
      async handle({ context, body }) {
        const id = context.req.param('id') ?? ''
        const { state, deadline } = body
        const commitment = await commitments.update(callerOf(context).userId, id, {
          ...(state && { state }),
          ...(deadline !== undefined && { deadline: deadline === null ? null : dueAt(deadline, timeZone) }),
        })
        if (!commitment)
          throw new FamiliarError('not_found', `There is no commitment ${JSON.stringify(id.slice(0, 200))}`)
        return jsonReply(commitmentReply(commitment))
      },
    }),
  ]
}

/** By the end of a day where it is one, otherwise by that moment. */
function dueAt(deadline: string, timeZone: string): number {
  const day = deadline.includes('T') ? undefined : parseDay(deadline)
  return day ? endOfDay(day, timeZone) : Date.parse(deadline)
}
