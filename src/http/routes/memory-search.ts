import { addDays, type CalendarDay, endOfDay, parseDay } from '../../base/clock.ts'
import type { CorrectionOutcome, MemoryChange } from '../../memory/corrections.ts'
import { decayCurve, isFaded, strengthOf } from '../../memory/decay.ts'
import type { Fact } from '../../memory/facts.ts'
import { citePlace, type FilePlace } from '../../memory/files/index-files.ts'
import type { DeepRecallAnswer } from '../../memory/learning/deep-recall.ts'
import { usualPriority } from '../../memory/memories.ts'
import type { Memory, MemoryFilter, MemoryKind } from '../../memory/memory.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import * as api from '../../protocol/memory.ts'
import type { StreamReply } from '../chat-replies.ts'
import type { HttpDependencies } from '../dependencies.ts'
import { orNotFound, quotedName } from '../replies.ts'
import { handle, type Route } from '../route.ts'
import { progressReply } from './memory-transfer.ts'

/** Search: directly, or in several ways with the help of a model. */
export function createSearchRoutes(dependencies: HttpDependencies, streamReply: StreamReply): Route[] {
  const { recall, deepRecall } = dependencies.memory

  async function deepReply(userId: string, { memories, searches, synthesis, note }: DeepRecallAnswer) {
    return {
      summary: synthesis.text,
      style: synthesis.style,
      searches,
      memories: await withPlaces(
        userId,
        memories.map(({ memory, relevance, relation = null }) => ({ memory, relevance, relation })),
      ),
      notes: [note, synthesis.note].filter((text) => text !== undefined),
    }
  }

  async function withPlaces<Found extends { memory: Memory }>(userId: string, found: readonly Found[]) {
    const memories = found.map(({ memory }) => memory)
    const place = await placing(dependencies, userId, memories)
    return found.map((one) => ({ ...one, memory: place(one.memory) }))
  }

  return [
    handle(api.memories.search, async ({ userId, query, signal }) => {
      const { q, limit } = query
      const found = await recall.recall({
        userId,
        text: q,
        limit,
        kinds: kindsOf(query),
        filter: filterOf(query, dependencies.timeZone),
        signal,
      })
      const ranked = found.map(({ memory, score, passage, explain: why }, index) => ({
        rank: index + 1,
        score,
        memory,
        passage,
        ...(query.explain === 'true' && { why }),
      }))
      return { results: await withPlaces(userId, ranked) }
    }),
    handle(api.memories.deep, ({ userId, body, context }) =>
      progressReply(
        context,
        streamReply,
        async (job) => deepReply(userId, await deepRecall({ ...body, ...job, userId, sessionId: null })),
        api.memories.deep,
      ),
    ),
  ]
}

/** The memories in the same order, each with its citation and its place in a file. */
export async function located(dependencies: HttpDependencies, userId: string, memories: readonly Memory[]) {
  return memories.map(await placing(dependencies, userId, memories))
}

export async function locatedOne(dependencies: HttpDependencies, memory: Memory) {
  return (await placing(dependencies, memory.userId, [memory]))(memory)
}

async function placing({ memory: { files } }: HttpDependencies, userId: string, memories: readonly Memory[]) {
  const passages = memories.filter((memory) => memory.kind === 'chunk').map((memory) => memory.id)
  const places = await files.fileOf(userId, passages)
  return (memory: Memory) => placed(memory, places.get(memory.id))
}

function placed(memory: Memory, file?: FilePlace) {
  return { ...memory, citation: file ? citePlace(file) : `memory:${memory.id}`, file: file ?? null }
}

/** The earlier state may be a passage of a deleted file, so it is cited by its id. */
export function changeReply(change: MemoryChange) {
  return { ...change, before: placed(change.before) }
}

const textLength = 200
const maxEdges = 5_000

/** Relations between memories. */
export function createGraphRoutes({ memory: { graph, memories } }: HttpDependencies): Route[] {
  /** The distance of each memory from the start, nearest first. */
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

  async function draw(userId: string, query: { ids?: string | undefined; depth: number; limit: number }) {
    const ids = query.ids?.split(',').filter((id) => id !== '')
    const distances = ids && (await walk(userId, ids, query))
    const around = await graph.edges(userId, { ...(distances && { ids: [...distances.keys()] }), limit: maxEdges })
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
      edges: drawn,
    }
  }

  return [
    handle(api.graph.show, ({ userId, query }) => draw(userId, query)),
    handle(api.graph.link, async ({ userId, body }) => {
      if (body.sourceId === body.targetId) throw new FamiliarError('bad_request', 'target_id: must be another memory')
      return orNotFound(await graph.link(userId, body), 'One of the two memories does not exist')
    }),
    handle(api.graph.unlink, async ({ userId, query }) => {
      if (!(await graph.unlink(userId, query))) throw new FamiliarError('not_found', 'There is no such edge')
      return { removed: true as const }
    }),
  ]
}

const written: readonly MemoryKind[] = ['note', 'fact', 'episode', 'commitment']

/** Undefined for all of them. */
export function kindsOf(query: {
  kind?: MemoryKind | undefined
  passages?: string
}): readonly MemoryKind[] | undefined {
  if (query.kind) return [query.kind]
  return query.passages === 'false' ? written : undefined
}

/** Days are days of the user's time zone; both ends are included. */
export function filterOf(
  {
    from,
    until,
    ...filter
  }: Omit<MemoryFilter, 'from' | 'until'> & { from?: string | undefined; until?: string | undefined },
  timeZone: string,
): MemoryFilter {
  return {
    ...filter,
    from: from === undefined ? undefined : timeOf(from, (day) => endOfDay(addDays(day, -1), timeZone) + 1),
    until: until === undefined ? undefined : timeOf(until, (day) => endOfDay(day, timeZone)),
  }
}

/** Reads a day such as 2026-11-20, or a time. */
export function timeOf(text: string, ofDay: (day: CalendarDay) => number): number {
  const day = text.includes('T') ? undefined : parseDay(text)
  return day ? ofDay(day) : Date.parse(text)
}

const maxEdgesOfMemory = 100
const maxChanges = 500

/** One memory of any kind. */
export function createOneMemoryRoutes(dependencies: HttpDependencies): Route[] {
  const { memories, facts, episodes, commitments, graph, corrections, decayState } = dependencies.memory

  const find = async (userId: string, id: string) => orNotFound(await memories.get(userId, id), noMemory(id))

  async function detailsOf(memory: Memory) {
    const { id, userId, kind } = memory
    const fact = kind === 'fact' ? await facts.get(userId, id) : undefined
    const episode = kind === 'episode' ? await episodes.get(userId, id) : undefined
    const commitment = kind === 'commitment' ? await commitments.get(userId, id) : undefined
    const edges = await graph.edges(userId, { ids: [id], limit: maxEdgesOfMemory })
    const changes = await corrections.changes(userId, maxChanges)
    const state = await decayState(userId)
    return {
      memory: await locatedOne(dependencies, memory),
      fact: fact ?? null,
      episode: episode ?? null,
      commitment: commitment ?? null,
      edges,
      decay: {
        policy: state.policy,
        strength: strengthOf(memory, state),
        isFaded: isFaded(memory, state),
        points: decayCurve(memory, state),
      },
      history: {
        facts: fact ? await valuesOf(fact) : [],
        changes: changes.filter((change) => change.memoryId === id).map(changeReply),
      },
    }
  }

  /** Users may change all their memories, so the only error is an unknown id. */
  async function changed(id: string, outcome: CorrectionOutcome) {
    if (!outcome.ok) throw new FamiliarError('not_found', noMemory(id))
    return { ...outcome, memory: await locatedOne(dependencies, outcome.memory) }
  }

  function valuesOf({ userId, entity, attribute }: Fact): Promise<Fact[]> {
    return facts.find({ userId, entity, attribute, history: true, limit: 100 })
  }

  return [
    handle(api.memories.show, async ({ userId, params: { id } }) => detailsOf(await find(userId, id))),
    handle(api.memories.edit, async ({ userId, params, body }) =>
      changed(params.id, await corrections.edit(userId, params.id, body, 'user')),
    ),
    handle(api.memories.keep, async ({ userId, params }) => {
      const known = await find(userId, params.id)
      // Untrusted text does not become the user's own.
      if (known.kind === 'chunk') throw new FamiliarError('bad_request', 'A passage cannot be kept')
      const priority = Math.max(known.priority, usualPriority.long_term)
      const kept = { source: 'user', label: 'owner', tier: 'long_term', priority } as const
      return changed(params.id, await corrections.edit(userId, known.id, kept, 'user'))
    }),
    handle(api.memories.forget, async ({ userId, params }) => {
      const outcome = await corrections.forget(userId, params.id, 'user')
      const forgotten = await changed(params.id, outcome)
      return { ...forgotten, alsoForgotten: await located(dependencies, userId, forgotten.alsoForgotten) }
    }),
  ]
}

function noMemory(id: string): string {
  return `There is no memory ${quotedName(id)}`
}
