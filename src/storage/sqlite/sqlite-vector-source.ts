import type { DatabaseSync } from 'node:sqlite'
import type { VectorRow, VectorSource } from '../vectors/threaded-vector-search.ts'

const rowsPerPage = 2000

/**
 * Uses its own connection, which is blocked while a statement runs. SQLite has one writer at a time, so places are
 * committed in order.
 */
export function createSqliteVectorSource(raw: DatabaseSync): VectorSource {
  const newerRows = raw.prepare(`
    select place, number, vector from memory_vectors
    where model = ? and user_id = ? and place > ? order by place limit ${rowsPerPage}`)
  const stillThere = raw.prepare('select place from memory_vectors where place in (select value from json_each(?))')
  const atPlaces = raw.prepare(
    'select place, vector from memory_vectors where place in (select value from json_each(?))',
  )
  return {
    follow(userId, model) {
      let lastPlace = 0
      return {
        async *newer() {
          for (let isLastPage = false; !isLastPage; ) {
            const rows = newerRows.all(model, userId, lastPlace) as unknown as VectorRow[]
            lastPlace = rows.at(-1)?.place ?? lastPlace
            isLastPage = rows.length < rowsPerPage
            yield rows
          }
        },
      }
    },
    async present(places) {
      const rows = stillThere.all(JSON.stringify(places)) as unknown as { place: number }[]
      return new Set(rows.map(({ place }) => place))
    },
    async read(places) {
      const rows = atPlaces.all(JSON.stringify(places)) as unknown as { place: number; vector: Uint8Array }[]
      return new Map(rows.map(({ place, vector }) => [place, vector]))
    },
    async close() {
      raw.close()
    },
  }
}
