import type { RunChild } from '../../../base/run-child.ts'
import type { Tool } from '../../tool.ts'
import { createReadPage } from './read-page.ts'
import { createWebFetch, type WebFetchNeeds } from './web-fetch.ts'
import { createWebSearch, type WebSearchSettings } from './web-search.ts'

export interface WebNeeds extends Omit<WebFetchNeeds, 'readPage'> {
  webSearch: () => WebSearchSettings | null
  runChild: RunChild
}

/** What looks at the web without a browser. */
export function createWebTools(needs: WebNeeds): Tool[] {
  return [
    createWebFetch({ ...needs, readPage: createReadPage(needs) }),
    createWebSearch({ settings: needs.webSearch, fetches: needs.fetches }),
  ]
}
