import type { TurnEvent } from '../protocol/event.ts'
import type { Json } from '../protocol/json.ts'

export interface LivePart {
  kind: 'text' | 'thinking'
  text: string
}

/** A response while it streams in: not yet in the log, and gone from here once it is. */
interface LiveResponse {
  turnId: string
  /** The newest event of the log when the call began: the response will be recorded after it. */
  afterSeq: number
  parts: LivePart[]
  length: number
}

export interface LiveResponses {
  begin(sessionId: string, turnId: string, afterSeq: number): void
  add(sessionId: string, kind: LivePart['kind'], text: string): void
  end(sessionId: string): void
  get(sessionId: string): LiveResponse | undefined
  /** Tool progress: told to whoever watches now, kept by no one. */
  progress(sessionId: string, event: Extract<TurnEvent, { type: 'tool_progress' }>): void
  onProgress(sessionId: string, listener: (event: TurnEvent) => void): () => void
}

export function createLiveResponses(wake: (sessionId: string) => void): LiveResponses {
  const responses = new Map<string, LiveResponse>()
  const watchers = new Map<string, Set<(event: TurnEvent) => void>>()
  return {
    begin(sessionId, turnId, afterSeq) {
      responses.set(sessionId, { turnId, afterSeq, parts: [], length: 0 })
    },
    add(sessionId, kind, text) {
      const response = responses.get(sessionId)
      if (!response || !text) return
      const last = response.parts.at(-1)
      if (last?.kind === kind) last.text += text
      else response.parts.push({ kind, text })
      response.length += text.length
      wake(sessionId)
    },
    end: (sessionId) => void responses.delete(sessionId),
    get: (sessionId) => responses.get(sessionId),
    progress(sessionId, event) {
      for (const watcher of watchers.get(sessionId) ?? []) watcher(event)
    },
    onProgress(sessionId, listener) {
      const known = watchers.get(sessionId) ?? new Set()
      known.add(listener)
      watchers.set(sessionId, known)
      return () => {
        known.delete(listener)
        if (known.size === 0) watchers.delete(sessionId)
      }
    },
  }
}

export function toolProgress(
  turnId: string,
  callId: string,
  name: string,
  data: Json,
): Extract<TurnEvent, { type: 'tool_progress' }> {
  return { type: 'tool_progress', turnId, callId, name, data }
}
