import type { Parsed } from '../../../base/json.ts'

export interface SearchHit {
  title: string
  url: string
  snippet: string
}

interface SearchQuery {
  /** Without a slash at its end. */
  baseUrl: string
  apiKey: string | null
  query: string
  limit: number
}

/** How one service is asked and what its answers mean. Sends nothing itself. */
export interface SearchProvider {
  name: string
  /** Null where each owner has a server of their own. */
  usualBaseUrl: string | null
  request(query: SearchQuery): { url: string; init: RequestInit }
  /** The body of an answer with status 200. Titles and snippets are as the service wrote them. */
  read(body: string): Parsed<SearchHit[]>
  /** What a status means with this service, where it is not what it means everywhere. */
  explains: Readonly<Record<number, string>>
}
