import { type Kysely, sql } from 'kysely'

const textsPerScope = sql.lit(2 ** 32)

/** The texts of one user in one collection. Their numbers follow each other. */
export interface TextScope {
  /** One less than its first number. */
  first: number
  /** Its newest number. */
  last: number
  texts: number
}

export async function findScope<T>(db: Kysely<T>, collection: string, userId: string): Promise<TextScope | undefined> {
  const found = await sql<{ first: number; last: number | null }>`
    select scope.first, (
      select number from text_entries
      where number between scope.first and scope.first + ${textsPerScope} - 1 order by number desc limit 1
    ) as last
    from (
      select number * ${textsPerScope} as first from text_scopes
      where collection = ${collection} and user_id = ${userId}
    ) as scope`.execute(db)
  const [row] = found.rows
  if (!row) return undefined
  const last = row.last ?? row.first
  return { first: row.first, last, texts: last - row.first }
}

export async function addScope<T>(writer: Kysely<T>, collection: string, userId: string): Promise<TextScope> {
  await sql`insert into text_scopes (collection, user_id) values (${collection}, ${userId})`.execute(writer)
  const added = await findScope(writer, collection, userId)
  if (!added) throw new Error('A scope that was just added is not there.')
  return added
}

/** Of one user in every collection. */
export async function scopesOf<T>(db: Kysely<T>, userId: string): Promise<TextScope[]> {
  const found = await sql<{ collection: string }>`
    select collection from text_scopes where user_id = ${userId}`.execute(db)
  const scopes = await Promise.all(found.rows.map(({ collection }) => findScope(db, collection, userId)))
  return scopes.filter((scope) => scope !== undefined)
}
