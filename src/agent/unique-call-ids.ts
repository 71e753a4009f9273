import type { Ids } from '../base/ids.ts'
import type { AssistantPart } from '../protocol/message.ts'
import type { Projection } from '../sessions/projection.ts'

/** Some servers number their calls anew in every response; in one conversation an id may stand for one call only. */
export function withUniqueCallIds(parts: readonly AssistantPart[], projection: Projection, ids: Ids): AssistantPart[] {
  const used = new Set<string>()
  return parts.map((part) => {
    if (part.type !== 'tool_call') return part
    const taken = !part.id || used.has(part.id) || projection.results[part.id] !== undefined
    const id = taken ? `call_${ids.next()}` : part.id
    used.add(id)
    return { ...part, id }
  })
}
