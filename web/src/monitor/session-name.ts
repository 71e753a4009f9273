import { useSessions } from '../talk/sessions-store.ts'

const workers: Record<string, string> = { subagent: 'A sub-agent', builder: 'The builder' }

/** What a session is called; work beside the conversations has the name of whoever does it. */
export function useSessionName(): (sessionId: string, channel?: string, contact?: string) => string {
  const sessions = useSessions()
  return (sessionId, channel = '', contact = '') => {
    const known = sessions.find(({ id }) => id === sessionId)
    return known ? (known.title ?? known.contact) : (workers[channel] ?? (contact || 'A conversation'))
  }
}

/** Nobody speaks there: it works for a conversation. */
export const isWork = (channel: string) => channel in workers
