import * as api from '../../protocol/search.ts'
import type { HttpSearch } from '../dependencies.ts'
import { callerOf } from '../guards.ts'
import { orNotFound } from '../replies.ts'
import { handle, type Route } from '../route.ts'

const maxShown = 500_000

/** One search over everything of the caller. */
export function createFindRoutes(search: HttpSearch): Route[] {
  return [
    handle(api.search.everything, async ({ userId, query, context }) => {
      const { q: words, kinds, limit, typing } = query
      const { isOwner } = callerOf(context)
      return { found: await search.everything({ userId, isOwner, words, kinds, limit, isTyping: typing === 'true' }) }
    }),
    handle(api.search.file, async ({ userId, params }) => {
      const file = orNotFound(await search.file(userId, params.id), 'There is no such text file. Search for it again.')
      const text = file.text.slice(0, maxShown).toWellFormed()
      return { ...file, text, isCut: text.length < file.text.length }
    }),
  ]
}
