import type { Conversation } from '../talk/conversation.ts'
import type { AskedCall } from './carry-out.ts'
import { toolNames } from './client-tools.ts'

export interface WaitingCall extends AskedCall {
  callId: string
  /** What its turn answers to: the browser that sent one of them is the one that is asked. */
  messageIds: string[]
}

const names: ReadonlySet<string> = new Set(Object.values(toolNames))

/** The calls that the running turn waits for, and that are this page's to make. */
export function waitingCalls({ items }: Conversation): WaitingCall[] {
  const place = items.findLastIndex((item) => item.kind === 'turn')
  const turn = items[place]
  if (turn?.kind !== 'turn' || turn.outcome !== undefined) return []
  const calls = turn.parts.flatMap((part) =>
    part.kind === 'tool' && part.isClients && part.result === undefined && names.has(part.name) ? [part] : [],
  )
  if (calls.length === 0) return []
  const before = items.slice(0, place)
  const since = before.slice(before.findLastIndex((item) => item.kind === 'turn') + 1)
  const messageIds = since.flatMap((item) => (item.kind === 'message' ? [item.id] : []))
  return calls.map(({ callId, name, input }) => ({ callId, name, input, messageIds }))
}
