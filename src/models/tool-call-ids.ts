import type { ModelMessage } from '../protocol/message.ts'

/** Gives each call of one response an id that no call of the conversation has. */
export interface ToolCallIds {
  take(wanted: string | undefined): string
}

/**
 * Some servers send no id, or the same one in every response. Others use characters that the next provider in the route
 * refuses. An id that is fine stays as it is.
 */
export function createToolCallIds(messages: readonly ModelMessage[]): ToolCallIds {
  const taken = new Set<string>()
  for (const message of messages) {
    if (message.role !== 'assistant') continue
    for (const part of message.parts) if (part.type === 'tool_call') taken.add(part.id)
  }
  return {
    take(wanted) {
      const base = (wanted ?? '').replace(/[^a-zA-Z0-9_-]/g, '_').slice(0, 56) || 'call'
      let id = wanted ? base : `${base}_1`
      for (let next = 2; taken.has(id); next += 1) id = `${base}_${next}`
      taken.add(id)
      return id
    },
  }
}
