/** What each session saw last of a file, so that it does not write over what it never saw. Forgotten with the process. */
export interface LastSeen {
  get(sessionId: string, uri: string): string | undefined
  set(sessionId: string, uri: string, etag: string | null): void
}

const most = 5_000

export function createLastSeen(): LastSeen {
  const etags = new Map<string, string>()
  return {
    get: (sessionId, uri) => etags.get(`${sessionId} ${uri}`),
    set(sessionId, uri, etag) {
      const key = `${sessionId} ${uri}`
      etags.delete(key)
      if (etag !== null) etags.set(key, etag)
      const [oldest] = etags.keys()
      if (etags.size > most && oldest !== undefined) etags.delete(oldest)
    },
  }
}
