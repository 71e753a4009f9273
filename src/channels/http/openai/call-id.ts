/**
 * The id under which a client knows a call: it names the session too, so that the result finds its way whatever else
 * the client tells of the conversation.
 */
const pattern = /^call_([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})_(.{1,200})$/s

export function toClientCallId(sessionId: string, callId: string): string {
  return `call_${sessionId.replaceAll('-', '')}_${callId}`
}

/** Undefined for an id that is none of ours. */
export function readClientCallId(id: string): { sessionId: string; callId: string } | undefined {
  const match = pattern.exec(id)
  return match ? { sessionId: match.slice(1, 6).join('-'), callId: match[6] ?? '' } : undefined
}
