import type { MemoryReply } from '../../../../src/protocol/memory-api.ts'
import { dayKey } from '../times.ts'

interface MemoryDay {
  key: string
  memories: MemoryReply[]
}

/** In the order given: newest first stays newest first. */
export function byDay(memories: readonly MemoryReply[]): MemoryDay[] {
  const days: MemoryDay[] = []
  for (const memory of memories) {
    const key = dayKey(memory.created_at)
    const last = days.at(-1)
    if (last?.key === key) last.memories.push(memory)
    else days.push({ key, memories: [memory] })
  }
  return days
}
