import { z } from 'zod'
import { dayOf, formatDay } from '../../base/clock.ts'
import { readBundledText } from '../../base/files.ts'
import { oneLine, truncateText } from '../../base/text.ts'
import type { deepProgressSchema } from '../../protocol/memory.ts'
import type { MemoryGraph } from '../graph.ts'
import type { Memories } from '../memories.ts'
import type { Memory, MemoryKind } from '../memory.ts'
import type { Recall } from '../recall/recall.ts'
import { type AskModel, fieldOf, readItems, readModelJson } from './ask-model.ts'

const prompt = readBundledText(new URL('./prompts/expansion.md', import.meta.url))
const maxSearches = 5
const plainWeight = 2
const startsOfWalk = 5
const walkDepth = 2
const maxRelated = 10
const maxQuestionLength = 2_000

export type DeepRecallProgress = z.infer<typeof deepProgressSchema>

interface DeepMemory {
  memory: Memory
  score: number
  /** 0 to 1, relative to the best of its search; for graph results, the weight of the path. */
  relevance: number
  /** The relation followed in the graph; undefined for search results. */
  relation?: string
}

export interface DeepRecallAnswer {
  memories: readonly DeepMemory[]
  /** The question itself is the first. */
  searches: readonly string[]
  synthesis: Synthesis
  /** Why it was asked in one way only. */
  note?: string
}

/** Asks the question in several ways, and follows relations of the results (MEM-7). */
export type DeepRecall = (request: {
  userId: string
  sessionId: string | null
  question: string
  limit: number
  style: SynthesisStyle
  signal: AbortSignal
  onProgress?: (progress: DeepRecallProgress) => void
}) => Promise<DeepRecallAnswer>

export function createDeepRecall(dependencies: {
  recall: Recall
  graph: MemoryGraph
  memories: Memories
  askModel: AskModel
  synthesise: Synthesise
}): DeepRecall {
  const { recall, graph, memories, askModel, synthesise } = dependencies

  return async ({ userId, sessionId, question, limit, style, signal, onProgress }) => {
    onProgress?.({ status: 'expanding', query: question })
    const text = question.slice(0, maxQuestionLength)
    const answer = await askModel({ userId, sessionId, purpose: 'deep_memory', system: prompt, text, signal })
    const further = answer.ok ? readSearches(answer.text, question) : []
    const searches = [question, ...further]
    onProgress?.({ status: 'searching', searches })
    const lists = await Promise.all(searches.map((search) => recall.recall({ userId, text: search, limit, signal })))
    const ranked = lists.map((list, index) => ({
      items: list.map(({ memory, score }) => ({ id: memory.id, score, item: memory })),
      weight: index === 0 ? plainWeight : 1,
    }))
    const merged = mergeByRank(ranked)
      .slice(0, limit)
      .map(({ item, score, relevance }): DeepMemory => ({ memory: item, score, relevance }))
    const all = [...merged, ...(await related(userId, merged))]
    const ids = all.map(({ memory }) => memory.id)
    onProgress?.({ status: 'found', count: ids.length, memories: ids })
    const asked = { userId, sessionId, question, style, signal }
    const synthesis = await synthesise({ ...asked, memories: all.map(({ memory }) => memory) })
    const noMore = further.length === 0 ? 'The model returned no further searches' : undefined
    const note = answer.ok ? noMore : answer.message
    return { memories: all, searches, synthesis, ...(note !== undefined && { note }) }
  }

  /** Relations of the best, ranked below all search results. */
  async function related(userId: string, merged: readonly DeepMemory[]): Promise<DeepMemory[]> {
    const starts = merged.slice(0, startsOfWalk).map(({ memory }) => memory.id)
    if (starts.length === 0) return []
    const known = new Set(merged.map(({ memory }) => memory.id))
    const limit = maxRelated + known.size
    const walked = await graph.related(userId, starts, { depth: walkDepth, limit })
    const fresh = walked.filter(({ id }) => !known.has(id)).slice(0, maxRelated)
    const freshIds = fresh.map(({ id }) => id)
    const byId = new Map((await memories.getMany(userId, freshIds)).map((memory) => [memory.id, memory]))
    const lowest = merged.at(-1)?.score ?? 0
    const found = fresh.flatMap(({ id, weight, via }): DeepMemory[] => {
      const memory = byId.get(id)
      if (!memory || memory.supersededAt !== null) return []
      return [{ memory, score: lowest * weight, relevance: weight, relation: via.relation }]
    })
    return found.toSorted((a, b) => b.score - a.score)
  }
}

/** The further searches in a model's answer; none if it is malformed, and never the question itself. */
function readSearches(answer: string, question: string): string[] {
  const value = readModelJson(answer)
  const list = Array.isArray(value) ? value : fieldOf(value, 'searches')
  const schema = z.string().trim().min(2).max(120)
  const searches = readItems(list, schema, maxSearches * 2)
  const seen = new Set([question.trim().toLowerCase()])
  return searches
    .filter((search) => !seen.has(search.toLowerCase()) && seen.add(search.toLowerCase()))
    .slice(0, maxSearches)
}

interface RankedList<T> {
  /** Best first; scores are comparable within the list only. */
  items: readonly { id: string; score: number; item: T }[]
  weight: number
}

interface Merged<T> {
  id: string
  item: T
  score: number
  /** 0 to 1: how close it came to the best of its best list. */
  relevance: number
}

// Flat enough that being found twice counts more than being first once.
const flatness = 60

/**
 * Merges several lists by reciprocal rank. Differences within a list are kept: each rank counts in proportion to the
 * item's score relative to the list's best.
 */
export function mergeByRank<T>(lists: readonly RankedList<T>[]): Merged<T>[] {
  const merged = new Map<string, Merged<T>>()
  for (const { items, weight } of lists) {
    const best = Math.max(...items.map((item) => item.score))
    for (const [index, { id, score, item }] of items.entries()) {
      const relevance = best > 0 ? Math.max(0, score) / best : 0
      const known = merged.get(id) ?? { id, item, score: 0, relevance: 0 }
      known.score += (weight * relevance) / (flatness + index + 1)
      known.relevance = Math.max(known.relevance, relevance)
      merged.set(id, known)
    }
  }
  return [...merged.values()].toSorted((a, b) => b.score - a.score || b.relevance - a.relevance)
}

export const synthesisStyles = ['structured', 'narrative', 'factual'] as const
export type SynthesisStyle = (typeof synthesisStyles)[number]

const prompts = {
  narrative: readBundledText(new URL('./prompts/narrative.md', import.meta.url)),
  factual: readBundledText(new URL('./prompts/factual.md', import.meta.url)),
}
const maxMemoryLength = 1_000
const sections: readonly [MemoryKind, string][] = [
  ['commitment', 'Commitments'],
  ['fact', 'Facts'],
  ['note', 'Notes'],
  ['episode', 'What happened'],
  ['chunk', 'Passages'],
]

interface Synthesis {
  style: SynthesisStyle
  text: string
  /** Why it is not the requested one. */
  note?: string
}

/** Summarizes the results. `structured` asks no model; the others fall back to it, and say so. */
type Synthesise = (request: {
  userId: string
  sessionId: string | null
  question: string
  memories: readonly Memory[]
  style: SynthesisStyle
  signal: AbortSignal
}) => Promise<Synthesis>

export function createSynthesis({ askModel, timeZone }: { askModel: AskModel; timeZone: string }): Synthesise {
  return async ({ userId, sessionId, question, memories, style, signal }) => {
    const structured = describeMemories(memories, timeZone)
    if (style === 'structured' || memories.length === 0) return { style: 'structured', text: structured }
    const answer = await askModel({
      userId,
      sessionId,
      purpose: 'synthesis',
      system: prompts[style],
      text: `QUESTION: ${oneLine(question, Number.POSITIVE_INFINITY)}\n\nMEMORIES:\n${structured}`,
      signal,
    })
    const text = answer.ok ? answer.text.trim() : ''
    if (text !== '') return { style, text }
    const reason = answer.ok ? 'the model returned no text' : answer.message
    return { style: 'structured', text: structured, note: `Not written as ${style}: ${reason}` }
  }
}

/** By kind, in order, each with its day and its citation. */
function describeMemories(memories: readonly Memory[], timeZone: string): string {
  const told = sections.flatMap(([kind, title]) => {
    const ofKind = memories.filter((memory) => memory.kind === kind)
    if (ofKind.length === 0) return []
    return [[`${title}:`, ...ofKind.map((memory) => `- ${describe(memory, timeZone)}`)].join('\n')]
  })
  return told.length > 0 ? told.join('\n\n') : 'Nothing found.'
}

function describe({ id, content, createdAt, speaker, label }: Memory, timeZone: string): string {
  const who = speaker === null ? '' : `${speaker}: `
  const text = oneLine(truncateText(content, maxMemoryLength), Number.POSITIVE_INFINITY)
  // Untrusted text is quoted, and cannot end its quotes.
  const said = label === 'untrusted' ? `(untrusted) “${text.replaceAll(/[“”]/g, '"')}”` : text
  return `${formatDay(dayOf(createdAt, timeZone))} ${who}${said} [memory:${id}]`
}
