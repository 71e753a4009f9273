import type { Commitment } from '../../../../memory/commitments.ts'
import type { MemoryChange } from '../../../../memory/corrections.ts'
import type { Episode } from '../../../../memory/episodes.ts'
import type { Fact } from '../../../../memory/facts.ts'
import { citePlace, type FilePlace } from '../../../../memory/files/cite-file.ts'
import type { MemoryEdge } from '../../../../memory/graph.ts'
import type { Memory } from '../../../../memory/memory.ts'
import type { CommitmentReply, EdgeReply, FactReply } from '../../../../protocol/fact-api.ts'
import type { ChangeReply, EpisodeReply, MemoryReply } from '../../../../protocol/memory-api.ts'
import type { HttpDependencies } from '../../http-dependencies.ts'
import { isoTime } from '../../iso-time.ts'

export async function oneMemoryReply({ memory: { files } }: HttpDependencies, memory: Memory): Promise<MemoryReply> {
  const places = await files.fileOf(memory.userId, [memory.id])
  return memoryReply(memory, places.get(memory.id))
}

/** In the same order, each with the place in a file that it is a passage of. */
export async function memoryReplies(
  { memory: { files } }: HttpDependencies,
  userId: string,
  memories: readonly Memory[],
): Promise<MemoryReply[]> {
  const passages = memories.filter((memory) => memory.kind === 'chunk').map((memory) => memory.id)
  const places = await files.fileOf(userId, passages)
  return memories.map((memory) => memoryReply(memory, places.get(memory.id)))
}

function memoryReply(memory: Memory, place: FilePlace | undefined): MemoryReply {
  return {
    id: memory.id,
    kind: memory.kind,
    content: memory.content,
    title: memory.title,
    category: memory.category,
    tags: [...memory.tags],
    tier: memory.tier,
    priority: memory.priority,
    source: memory.source,
    label: memory.label,
    session_id: memory.sessionId,
    turn_id: memory.turnId,
    speaker: memory.speaker,
    happened_from: optionalTime(memory.happenedFrom),
    happened_until: optionalTime(memory.happenedUntil),
    created_at: isoTime(memory.createdAt),
    updated_at: isoTime(memory.updatedAt),
    used_at: isoTime(memory.usedAt),
    use_count: memory.useCount,
    superseded_at: optionalTime(memory.supersededAt),
    superseded_by: memory.supersededBy,
    citation: place ? citePlace(place) : `memory:${memory.id}`,
    file: place ? { path: place.path, file: place.file, first_line: place.firstLine, last_line: place.lastLine } : null,
  }
}

export function factReply(fact: Fact): FactReply {
  return {
    id: fact.id,
    entity: fact.entity,
    attribute: fact.attribute,
    value: fact.value,
    confidence: fact.confidence,
    valid_from: isoTime(fact.validFrom),
    valid_to: optionalTime(fact.validTo),
  }
}

export function episodeReply(episode: Episode): EpisodeReply {
  return {
    summary: episode.summary,
    topics: [...episode.topics],
    decisions: [...episode.decisions],
    tone: episode.tone,
    started_at: isoTime(episode.startedAt),
    ended_at: isoTime(episode.endedAt),
  }
}

export function commitmentReply(commitment: Commitment): CommitmentReply {
  return {
    id: commitment.id,
    who: commitment.who,
    to_whom: commitment.toWhom,
    what: commitment.what,
    deadline: optionalTime(commitment.deadline),
    state: commitment.state,
    closed_at: optionalTime(commitment.closedAt),
    created_at: isoTime(commitment.createdAt),
  }
}

export function edgeReply(edge: MemoryEdge): EdgeReply {
  return { source_id: edge.sourceId, target_id: edge.targetId, relation: edge.relation, weight: edge.weight }
}

/** What it was before may be a passage of a file that is gone: it is cited by its id. */
export function changeReply(change: MemoryChange): ChangeReply {
  return {
    id: change.id,
    memory_id: change.memoryId,
    action: change.action,
    made_by: change.madeBy,
    at: isoTime(change.at),
    undo_until: isoTime(change.undoUntil),
    before: memoryReply(change.before, undefined),
  }
}

function optionalTime(at: number | null): string | null {
  return at === null ? null : isoTime(at)
}
