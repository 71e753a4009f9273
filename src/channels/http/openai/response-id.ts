const pattern = /^resp_([0-9a-f]{32})_([0-9a-f]{32})_\d{1,15}$/

/** Names the session, the message and the place in the log: a turn that asks its client is answered more than once. */
export function toResponseId(place: { sessionId: string; messageId: string; cursor: string }): string {
  const [seq] = place.cursor.split('.')
  return `resp_${place.sessionId.replaceAll('-', '')}_${place.messageId.replaceAll('-', '')}_${seq}`
}

/** Undefined for an id that is none of ours. */
export function readResponseId(id: string): { sessionId: string; messageId: string } | undefined {
  const match = pattern.exec(id)
  return match ? { sessionId: toUuid(match[1] ?? ''), messageId: toUuid(match[2] ?? '') } : undefined
}

function toUuid(digits: string): string {
  return [0, 8, 12, 16, 20].map((start, index, starts) => digits.slice(start, starts[index + 1])).join('-')
}
