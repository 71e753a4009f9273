/** A name for a statement that is run again and again; undefined for one that is not. */
export type NameStatement = (sql: string) => string | undefined

/**
 * A statement with a name is parsed once for a connection. Which ones come again shows in use: lists of changing length
 * (`in ($1, $2, …)`) seldom do, and would fill the memory of every connection on the server.
 */
export function createStatementNames({ usesUntilNamed = 4, limit = 512 } = {}): NameStatement {
  const known = new Map<string, { uses: number; name: string }>()
  let count = 0

  return (sql) => {
    const statement = known.get(sql) ?? { uses: 0, name: '' }
    statement.uses += 1
    if (statement.uses === usesUntilNamed) {
      count += 1
      statement.name = `familiar_${count}`
    }
    // Back to the young end of the map: what is in use stays.
    known.delete(sql)
    known.set(sql, statement)
    if (known.size > limit) known.delete(known.keys().next().value ?? '')
    return statement.name || undefined
  }
}
