import type { BuildEvent } from '../../../protocol/build-api.ts'
import type { TurnEvent } from '../../../protocol/event.ts'
import type { Json } from '../../../protocol/json.ts'

export type Tone = 'plain' | 'quiet' | 'warning' | 'bad'

/** One thing of a conversation as it is shown, in the order in which it came. Never changed, only replaced. */
export type Item =
  /** `from` is where it came from, where that is not this terminal. */
  | { kind: 'user'; text: string; from: string | undefined; messageId: string | undefined }
  /** Open while its response is still coming: what is not yet in the log may come again. */
  | { kind: 'answer'; text: string; isOpen: boolean }
  | { kind: 'thinking'; text: string; isOpen: boolean; startedAt: number; tookMs: number | undefined }
  | CallItem
  | { kind: 'card'; title: string; text: string }
  | { kind: 'note'; tone: Tone; text: string }
  /** Lines that are drawn already, and fitted to the width when shown. */
  | { kind: 'picture'; draw: (width: number) => string[] }
  | BuildItem

export interface CallItem {
  kind: 'call'
  callId: string
  name: string
  input: Json
  startedAt: number
  progress: string | undefined
  /** Undefined while it runs. */
  outcome: { result: string; isError: boolean; tookMs: number } | undefined
  /** It was not made: it waits for the user's word. */
  waits: boolean
}

export interface BuildItem {
  kind: 'build'
  buildId: string
  name: string
  state: 'running' | 'complete' | 'failed'
  lines: readonly { tone: Tone; text: string }[]
}

/** What waits for the user's word; the first one is shown where they type. */
export type Ask =
  | { kind: 'approval'; id: string; tool: string; destination: string | null; arguments: string; reason: string }
  | { kind: 'confirm'; id: string; line: string; text: string }
  | { kind: 'question'; id: string; name: string; text: string }
  | { kind: 'secret'; id: string; name: string; secret: string; text: string }

/** Said, and not yet taken up by a turn. */
export interface Pending {
  key: string
  shown: string
  messageId: string | undefined
}

export interface Conversation {
  items: readonly Item[]
  pending: readonly Pending[]
  asks: readonly Ask[]
  /** Messages of this terminal as they were typed, by their id: a paste of many lines is shown as one word. */
  shownAs: ReadonlyMap<string, string>
  turn: { id: string; startedAt: number; waitsUntil: number | undefined } | undefined
  model: string | undefined
  /** What the newest request took of the window. */
  contextTokens: number | undefined
  /** What this conversation has cost since the day's cost was last asked for. */
  costSinceUsd: number
  isConnected: boolean
}

/** Everything that can happen to a conversation on the screen. */
export type Change =
  | { type: 'event'; event: TurnEvent; at: number }
  | { type: 'said'; key: string; shown: string }
  | { type: 'accepted'; key: string; messageId: string }
  | { type: 'refused'; key: string; reason: string }
  | { type: 'past'; role: 'user' | 'assistant'; text: string }
  | { type: 'note'; tone: Tone; text: string }
  | { type: 'picture'; draw: (width: number) => string[] }
  | { type: 'build'; name: string; event: BuildEvent }
  | { type: 'asked'; ask: Ask }
  | { type: 'settled'; id: string }
  | { type: 'cost_known' }
  | { type: 'lost' }
  /** What was open is told again from its beginning. */
  | { type: 'back'; text: string }

export const emptyConversation: Conversation = {
  items: [],
  pending: [],
  asks: [],
  shownAs: new Map(),
  turn: undefined,
  model: undefined,
  contextTokens: undefined,
  costSinceUsd: 0,
  isConnected: true,
}

export function withItems(conversation: Conversation, ...items: Item[]): Conversation {
  return { ...conversation, items: [...conversation.items, ...items] }
}
