import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { CompiledQuery, QueryResult } from 'kysely'
import { toStorageError } from './sqlite-error.ts'

export interface SqliteConnection {
  readonly raw: DatabaseSync
  /** Runs to its end before it returns, so statements of one connection never overlap. */
  execute(query: Pick<CompiledQuery, 'sql' | 'parameters'>): QueryResult<unknown>
}

interface CachedStatement {
  statement: StatementSync
  returnsRows: boolean
}

// Every query of the program fits many times over; lists of changing length (`in (?, ?, …)`) fall out again.
const statementLimit = 256

export function createSqliteConnection(
  raw: DatabaseSync,
  path: string,
  /** Takes secrets out of every text that is bound to a statement: the one place that all writing passes (SEC-13). */
  redact?: (text: string) => string,
): SqliteConnection {
  const statements = new Map<string, CachedStatement>()

  function prepare(sql: string): CachedStatement {
    const known = statements.get(sql)
    if (known) {
      // Back to the young end of the map: what is in use stays.
      statements.delete(sql)
      statements.set(sql, known)
      return known
    }
    const statement = raw.prepare(sql)
    const fresh = { statement, returnsRows: statement.columns().length > 0 }
    statements.set(sql, fresh)
    if (statements.size > statementLimit) {
      for (const oldest of statements.keys()) {
        statements.delete(oldest)
        break
      }
    }
    return fresh
  }

  return {
    raw,
    execute({ sql, parameters }) {
      try {
        const { statement, returnsRows } = prepare(sql)
        const given = parameters as SQLInputValue[]
        const values = redact ? given.map((value) => (typeof value === 'string' ? redact(value) : value)) : given
        if (returnsRows) return { rows: statement.all(...values) }
        const { changes, lastInsertRowid } = statement.run(...values)
        return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
      } catch (cause) {
        throw toStorageError(cause, path)
      }
    },
  }
}
