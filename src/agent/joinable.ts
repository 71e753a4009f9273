import type { InboxMessage } from '../sessions/inbox.ts'

/** The messages at the head that make one turn. */
export function joinable(messages: readonly InboxMessage[]): InboxMessage[] {
  const head = messages[0]
  if (!head) return []
  if (head.immediate) return [head]
  const other = messages.findIndex(
    (message) =>
      message.immediate ||
      message.sender !== head.sender ||
      message.source !== head.source ||
      message.label !== head.label ||
      message.tier !== head.tier,
  )
  return other === -1 ? [...messages] : messages.slice(0, other)
}

/** How long the sender has to be quiet yet before the messages at the head are a turn; undefined where there is none. */
export function quietTime(
  messages: readonly InboxMessage[],
  { debounceMs, now }: { debounceMs: number; now: number },
): number | undefined {
  const head = messages[0]
  if (!head) return undefined
  if (head.immediate || debounceMs === 0) return 0
  const batch = joinable(messages)
  const newest = batch.at(-1) ?? head
  // Something else waits behind the batch: no further message can join it.
  if (batch.length < messages.length) return 0
  // Bounded above too: after a clock was set back the newest message may seem to come from the future.
  return Math.min(debounceMs, Math.max(0, newest.receivedAt + debounceMs - now))
}
