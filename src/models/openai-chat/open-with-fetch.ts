import type { OpenedAnswer, OpenInit } from '../../egress/opened-answer.ts'

/** The lighter way out over any `fetch`, for one that has none of its own. */
export function openWithFetch(fetch: typeof globalThis.fetch): (url: string, init: OpenInit) => Promise<OpenedAnswer> {
  return async (url, { method, headers, body = null, signal }) => {
    const response = await fetch(url, { method, headers, body, signal })
    const reader = response.body?.getReader()
    return {
      status: response.status,
      statusText: response.statusText,
      headers: Object.fromEntries(response.headers),
      read: async () => (await reader?.read())?.value,
      cancel: () => void reader?.cancel().catch(() => {}),
    }
  }
}
