import { FamiliarError } from '../../../../protocol/error.ts'
import {
  edgeQuerySchema,
  edgeReplySchema,
  edgeRequestSchema,
  type GraphReply,
  graphQuerySchema,
  graphReplySchema,
  type RemovedReply,
  removedReplySchema,
} from '../../../../protocol/fact-api.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpDependencies } from '../../http-dependencies.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import { edgeReply } from './memory-reply.ts'

const edgesPath = '/api/v1/memories/edges'
const textLength = 200

/** How memories belong together. */
export function createGraphRoutes({ memory: { graph, memories } }: HttpDependencies): Route[] {
  /** How far each is from where the walk begins, nearest first. */
  async function walk(userId: string, ids: readonly string[], options: { depth: number; limit: number }) {
    const starts = await memories.getMany(userId, ids)
    const unknown = ids.find((id) => !starts.some((memory) => memory.id === id))
    if (unknown !== undefined) throw new FamiliarError('not_found', `There is no memory ${JSON.stringify(unknown)}`)
    const related = await graph.related(userId, ids, options)
    return new Map([
      ...ids.map((id) => [id, 0] as const),
      ...related.map(({ id, distance }) => [id, distance] as const),
    ])
  }

  async function draw(
    userId: string,
    query: { ids?: string | undefined; depth: number; limit: number },
  ): Promise<GraphReply> {
    const ids = query.ids?.split(',').filter((id) => id !== '')
    const distances = ids && (await walk(userId, ids, query))
    const around = await graph.edges(userId, { ...(distances && { ids: [...distances.keys()] }), limit: mostEdges })
    const edges = around.filter((edge) => !distances || (distances.has(edge.sourceId) && distances.has(edge.targetId)))
    const drawn = distances ? edges : edges.slice(0, query.limit)
    const ends = new Set(distances?.keys() ?? drawn.flatMap(({ sourceId, targetId }) => [sourceId, targetId]))
    const found = await memories.getMany(userId, [...ends])
    return {
      nodes: found.map(({ id, kind, title, content }) => ({
        id,
        kind,
        title,
        text: content.slice(0, textLength).toWellFormed(),
        distance: distances?.get(id) ?? null,
      })),
      edges: drawn.map(edgeReply),
    }
  }

  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/memories/graph',
      summary: 'Memories and how they are joined: around some of them, or the newest edges.',
      auth: 'token',
      scope: 'read',
      query: graphQuerySchema,
      reply: { status: 200, schema: graphReplySchema },
      handle: async ({ context, query }) => jsonReply(await draw(callerOf(context).userId, query)),
    }),
    defineRoute({
      method: 'POST',
      path: edgesPath,
      summary: 'Join two memories. The same edge again keeps the higher weight.',
      auth: 'token',
      scope: 'owner',
      body: edgeRequestSchema,
      reply: { status: 201, schema: edgeReplySchema },
      async handle({ context, body }) {
        const { source_id: sourceId, target_id: targetId, relation, weight } = body
        if (sourceId === targetId) throw new FamiliarError('bad_request', 'target_id: must be another memory')
        const edge = await graph.link(callerOf(context).userId, { sourceId, targetId, relation, weight })
        if (!edge) throw new FamiliarError('not_found', 'There is no such memory at one of the two ends')
        return jsonReply(edgeReply(edge), { status: 201 })
      },
    }),
    defineRoute({
      method: 'DELETE',
      path: edgesPath,
      summary: 'Two memories are no longer joined by that relation.',
      auth: 'token',
      scope: 'owner',
      query: edgeQuerySchema,
      reply: { status: 200, schema: removedReplySchema },
      async handle({ context, query }) {
        const { source_id: sourceId, target_id: targetId, relation } = query
        const removed = await graph.unlink(callerOf(context).userId, { sourceId, targetId, relation })
        if (!removed) throw new FamiliarError('not_found', 'There is no such edge')
        return jsonReply({ removed: true } satisfies RemovedReply)
      },
    }),
  ]
}

const mostEdges = 5_000
