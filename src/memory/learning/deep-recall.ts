import { z } from 'zod'
import { readBundledText } from '../../base/text-file.ts'
import type { MemoryGraph } from '../graph.ts'
import type { Memories } from '../memories.ts'
import type { Memory } from '../memory.ts'
import type { Recall, RecalledMemory } from '../recall/recall.ts'
import type { AskModel } from './ask-model.ts'
import { mergeByRank } from './merge-by-rank.ts'
import { fieldOf, readItems, readModelJson } from './parse-model-json.ts'
import type { Synthesis, Synthesise, SynthesisStyle } from './synthesis.ts'

const prompt = readBundledText(new URL('./prompts/expansion.md', import.meta.url))
const mostSearches = 5
const plainWeight = 2
const startsOfWalk = 5
const walkDepth = 2
const mostRelated = 10
const longestQuestion = 2_000

export type DeepRecallProgress =
  | { status: 'expanding'; query: string }
  | { status: 'searching'; searches: readonly string[] }
  | { status: 'found'; count: number; memories: readonly string[] }

interface DeepMemory {
  memory: Memory
  score: number
  /** 0 to 1, against the best of its search; for what the graph led to, the weight of the way there. */
  relevance: number
  /** The relation that the graph led along; absent for what a search found. */
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

/** The question asked in several ways, and what hangs on what was found (MEM-7). */
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
    const text = question.slice(0, longestQuestion)
    const answer = await askModel({ userId, sessionId, purpose: 'deep_memory', system: prompt, text, signal })
    const further = answer.ok ? readSearches(answer.text, question) : []
    const searches = [question, ...further]
    onProgress?.({ status: 'searching', searches })
    const lists = await Promise.all(searches.map((search) => recall.recall({ userId, text: search, limit, signal })))
    const found = mergeByRank(
      lists.map((list, index) => ({ items: list.map(ranked), weight: index === 0 ? plainWeight : 1 })),
    )
    const merged = found
      .slice(0, limit)
      .map(({ item, score, relevance }): DeepMemory => ({ memory: item.memory, score, relevance }))
    const all = [...merged, ...(await related(userId, merged))]
    const ids = all.map(({ memory }) => memory.id)
    onProgress?.({ status: 'found', count: ids.length, memories: ids })
    const synthesis = await synthesise({
      userId,
      sessionId,
      question,
      style,
      signal,
      memories: all.map(({ memory }) => memory),
    })
    const note = !answer.ok ? answer.message : further.length === 0 ? 'The model gave no further searches' : undefined
    return { memories: all, searches, synthesis, ...(note !== undefined && { note }) }
  }

  /** What hangs on the best, below everything that a search found. */
  async function related(userId: string, merged: readonly DeepMemory[]): Promise<DeepMemory[]> {
    const starts = merged.slice(0, startsOfWalk).map(({ memory }) => memory.id)
    if (starts.length === 0) return []
    const known = new Set(merged.map(({ memory }) => memory.id))
    const limit = mostRelated + known.size
    const walked = await graph.related(userId, starts, { depth: walkDepth, limit })
    const fresh = walked.filter(({ id }) => !known.has(id)).slice(0, mostRelated)
    const byId = new Map(
      (
        await memories.getMany(
          userId,
          fresh.map(({ id }) => id),
        )
      ).map((memory) => [memory.id, memory]),
    )
    const lowest = merged.at(-1)?.score ?? 0
    const found = fresh.flatMap(({ id, weight, via }): DeepMemory[] => {
      const memory = byId.get(id)
      if (!memory || memory.supersededAt !== null) return []
      return [{ memory, score: lowest * weight, relevance: weight, relation: via.relation }]
    })
    return found.toSorted((a, b) => b.score - a.score)
  }
}

/** The further searches of a model's answer; none where it is malformed, and never the question itself again. */
function readSearches(answer: string, question: string): string[] {
  const value = readModelJson(answer)
  const list = Array.isArray(value) ? value : fieldOf(value, 'searches')
  const schema = z.string().trim().min(2).max(120)
  const searches = readItems(list, schema, mostSearches * 2)
  const seen = new Set([question.trim().toLowerCase()])
  return searches
    .filter((search) => !seen.has(search.toLowerCase()) && seen.add(search.toLowerCase()))
    .slice(0, mostSearches)
}

function ranked(recalled: RecalledMemory) {
  return { id: recalled.memory.id, score: recalled.score, item: recalled }
}
