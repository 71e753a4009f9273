import type { AssistantPart, ThinkingPart } from '../protocol/message.ts'

/**
 * The parts of an earlier answer that a provider is sent again: no thinking but its own, no empty text, and no thinking
 * that leads to nothing.
 */
export function replayableParts(options: {
  parts: readonly AssistantPart[]
  provider: string
  canReplay(part: ThinkingPart): boolean
}): AssistantPart[] {
  const { parts, provider, canReplay } = options
  const kept = parts.filter((part) => {
    const isOwn = part.replay?.provider === provider
    if (part.type === 'thinking') return isOwn && canReplay(part)
    return part.type === 'tool_call' || part.text.trim() !== '' || (part.text === '' && isOwn)
  })
  // Providers refuse an answer that ends in thinking, which is what a stopped turn can leave behind.
  const last = kept.findLastIndex((part) => part.type !== 'thinking')
  return kept.slice(0, last + 1)
}
