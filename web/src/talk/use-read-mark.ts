import { useEffect } from 'react'
import { ask } from '../api/ask.ts'
import type { Conversation } from './conversation.ts'

/** What is shown in a tab that is looked at has been read. */
export function useReadMark(sessionId: string | null, { cursor }: Conversation): void {
  const seq = Number(cursor.split('.')[0])
  useEffect(() => {
    if (sessionId === null || seq === 0 || document.visibilityState !== 'visible') return
    const timer = setTimeout(() => void mark(sessionId, seq), 800)
    return () => clearTimeout(timer)
  }, [sessionId, seq])
}

async function mark(sessionId: string, seq: number): Promise<void> {
  await ask(`/sessions/${sessionId}/read`, { method: 'PUT', body: { seq } }).catch(() => undefined)
}
