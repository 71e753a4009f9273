// Taken from the module, so that tests which replace the global timers do not stop reading.
import { setTimeout as pause } from 'node:timers/promises'
import type { CompiledQuery, QueryResult } from 'kysely'
import { isConnectionLost, isStalePlan, toStorageError } from './postgres-error.ts'
import type { PostgresPools } from './postgres-pools.ts'
import { runStatement } from './run-statement.ts'
import type { NameStatement } from './statement-names.ts'

const mostTries = 5

/** Reads what is committed. A read changes nothing, so one whose connection was lost is tried again. */
export async function readStatement(options: {
  pools: PostgresPools
  query: CompiledQuery
  nameStatement: NameStatement
}): Promise<QueryResult<unknown>> {
  const { pools, query, nameStatement } = options
  for (let tries = 1; ; tries += 1) {
    try {
      return await pools.reading.use((client) => runStatement(client, query, { nameStatement }))
    } catch (error) {
      const mayPass = isConnectionLost(error) || isStalePlan(error)
      if (!mayPass || tries === mostTries) throw toStorageError(error, pools.place)
      await pause(20 * 2 ** tries)
    }
  }
}
