import type { HistoryEvent } from '../protocol/api.ts'
import type { ApiClient } from './api-client.ts'

/** Every event of the session after `after`, page by page. */
export async function* historyPages(
  client: ApiClient,
  sessionId: string,
  options: { full: boolean; after?: number },
): AsyncGenerator<HistoryEvent[]> {
  let after: number | null = options.after ?? 0
  while (after !== null) {
    const page = await client.history(sessionId, { full: options.full, after, limit: 1_000 })
    yield page.events
    after = page.next_after
  }
}
