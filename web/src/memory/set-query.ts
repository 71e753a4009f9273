import { go } from '../shell/router.ts'
import { withQuery } from './with-query.ts'

/** Says in the address what is looked at. Of what is typed, letter by letter, only the last is a place to come back to. */
export function setQuery(query: URLSearchParams, changes: Readonly<Record<string, string>>): void {
  go(withQuery(query, changes), { replace: true })
}
