import type { CorrectionOutcome } from '../../../../memory/corrections.ts'
import { isFaded, strengthOf } from '../../../../memory/decay.ts'
import { decayCurve } from '../../../../memory/decay-curve.ts'
import type { Fact } from '../../../../memory/facts.ts'
import { usualPriority } from '../../../../memory/memories.ts'
import type { Memory } from '../../../../memory/memory.ts'
import { emptyRequestSchema } from '../../../../protocol/api.ts'
import { FamiliarError } from '../../../../protocol/error.ts'
import {
  type EditedMemoryReply,
  editedMemoryReplySchema,
  type ForgottenMemoryReply,
  forgottenMemoryReplySchema,
  type MemoryDetailReply,
  memoryDetailReplySchema,
  memoryEditRequestSchema,
} from '../../../../protocol/memory-api.ts'
import { callerOf } from '../../guards/token-guard.ts'
import type { HttpContext, HttpDependencies } from '../../http-dependencies.ts'
import { jsonReply } from '../../json-reply.ts'
import { defineRoute, type Route } from '../../route.ts'
import {
  changeReply,
  commitmentReply,
  edgeReply,
  episodeReply,
  factReply,
  memoryReplies,
  oneMemoryReply,
} from './memory-reply.ts'

const path = '/api/v1/memories/:id'
const mostEdges = 100
const mostChanges = 500

/** One memory, whatever its kind. */
export function createOneMemoryRoutes(dependencies: HttpDependencies): Route[] {
  const { memories, facts, episodes, commitments, graph, corrections, decayState } = dependencies.memory

  async function detailsOf(memory: Memory): Promise<MemoryDetailReply> {
    const { id, userId, kind } = memory
    const fact = kind === 'fact' ? await facts.get(userId, id) : undefined
    const episode = kind === 'episode' ? await episodes.get(userId, id) : undefined
    const commitment = kind === 'commitment' ? await commitments.get(userId, id) : undefined
    const edges = await graph.edges(userId, { ids: [id], limit: mostEdges })
    const changes = await corrections.changes(userId, mostChanges)
    const state = await decayState(userId)
    return {
      memory: await oneMemoryReply(dependencies, memory),
      fact: fact ? factReply(fact) : null,
      episode: episode ? episodeReply(episode) : null,
      commitment: commitment ? commitmentReply(commitment) : null,
      edges: edges.map(edgeReply),
      decay: {
        policy: state.policy,
        strength: strengthOf(memory, state),
        is_faded: isFaded(memory, state),
        points: decayCurve(memory, state),
      },
      history: {
        facts: fact ? (await valuesOf(fact)).map(factReply) : [],
        changes: changes.filter((change) => change.memoryId === id).map(changeReply),
      },
    }
  }

  function valuesOf({ userId, entity, attribute }: Fact): Promise<Fact[]> {
    return facts.find({ userId, entity, attribute, history: true, limit: 100 })
  }

  return [
    defineRoute({
      method: 'GET',
      path,
      summary: 'One memory with all that belongs to it: where it came from, its edges, what it was before.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200, schema: memoryDetailReplySchema },
      async handle({ context }) {
        const memory = await memories.get(callerOf(context).userId, idOf(context))
        if (!memory) throw noMemory(context)
        return jsonReply(await detailsOf(memory))
      },
    }),
    defineRoute({
      method: 'PATCH',
      path,
      summary: 'Change a memory. What it was before can be brought back for 30 days.',
      auth: 'token',
      scope: 'owner',
      body: memoryEditRequestSchema,
      reply: { status: 200, schema: editedMemoryReplySchema },
      async handle({ context, body }) {
        const outcome = await corrections.edit(callerOf(context).userId, idOf(context), body, 'user')
        const { changeId, memory } = done(outcome, context)
        const reply: EditedMemoryReply = { change_id: changeId, memory: await oneMemoryReply(dependencies, memory) }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'POST',
      path: `${path}/keep`,
      summary: 'Say that what Familiar learnt by itself is so: from now on it is the user’s own, and lasts.',
      auth: 'token',
      scope: 'owner',
      body: emptyRequestSchema,
      reply: { status: 200, schema: editedMemoryReplySchema },
      async handle({ context }) {
        const { userId } = callerOf(context)
        const known = await memories.get(userId, idOf(context))
        if (!known) throw noMemory(context)
        // Somebody else's words do not become the user's by being kept.
        if (known.kind === 'chunk') throw new FamiliarError('bad_request', 'A passage is what it is: it cannot be kept')
        const priority = Math.max(known.priority, usualPriority.long_term)
        const kept = { source: 'user', label: 'owner', tier: 'long_term', priority } as const
        const { changeId, memory } = done(await corrections.edit(userId, known.id, kept, 'user'), context)
        const reply: EditedMemoryReply = { change_id: changeId, memory: await oneMemoryReply(dependencies, memory) }
        return jsonReply(reply)
      },
    }),
    defineRoute({
      method: 'DELETE',
      path,
      summary: 'Forget a memory, by id or exact title, with what merely repeats it. Can be undone for 30 days.',
      auth: 'token',
      scope: 'owner',
      reply: { status: 200, schema: forgottenMemoryReplySchema },
      async handle({ context }) {
        const { userId } = callerOf(context)
        const outcome = await corrections.forget(userId, idOf(context), 'user')
        const { changeId, memory, alsoForgotten } = done(outcome, context)
        const reply: ForgottenMemoryReply = {
          change_id: changeId,
          memory: await oneMemoryReply(dependencies, memory),
          also_forgotten: await memoryReplies(dependencies, userId, alsoForgotten),
        }
        return jsonReply(reply)
      },
    }),
  ]
}

/** The user may change everything of theirs: the one other outcome is that there is no such memory. */
function done(outcome: CorrectionOutcome, context: HttpContext): Extract<CorrectionOutcome, { ok: true }> {
  if (outcome.ok) return outcome
  throw noMemory(context)
}

function idOf(context: HttpContext): string {
  return context.req.param('id') ?? ''
}

function noMemory(context: HttpContext): FamiliarError {
  return new FamiliarError('not_found', `There is no memory ${JSON.stringify(idOf(context).slice(0, 200))}`)
}
