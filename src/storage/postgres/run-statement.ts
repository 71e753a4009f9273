import type { CompiledQuery, QueryResult } from 'kysely'
import type pg from 'pg'
import { readValues, toParameter } from './postgres-values.ts'
import type { NameStatement } from './statement-names.ts'

/** How statements reach a connection: as what, and with which names. */
export interface Wiring {
  nameStatement: NameStatement
  /** Takes secrets out of every text that is bound to a statement: the one place that all writing passes (SEC-13). */
  redact?: ((text: string) => string) | undefined
}

const writingCommands = ['INSERT', 'UPDATE', 'DELETE', 'MERGE']

/** One statement on one connection. Rejects with what PostgreSQL or the connection said. */
export async function runStatement(
  client: pg.ClientBase,
  { sql, parameters }: Pick<CompiledQuery, 'sql' | 'parameters'>,
  { nameStatement, redact }: Wiring,
): Promise<QueryResult<unknown>> {
  const result = await client.query({
    name: nameStatement(sql),
    text: sql,
    values: parameters.map((value) => toParameter(value, redact)),
    types: readValues,
  } as pg.QueryConfig)
  if (!writingCommands.includes(result.command)) return { rows: result.rows }
  return { rows: result.rows, numAffectedRows: BigInt(result.rowCount ?? 0) }
}
