import {
  type CompiledQuery,
  type DatabaseConnection,
  DefaultQueryExecutor,
  Kysely,
  type KyselyProps,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  Transaction,
} from 'kysely'
import { createUnitDialect } from '../unit-dialect.ts'
import type { SqliteConnection } from './sqlite-connection.ts'

type Execute = (query: CompiledQuery) => QueryResult<unknown>

/** Queries straight on the connection. It has no transactions of its own: those belong to whoever made it. */
export function createKysely<DB>(connection: SqliteConnection): Kysely<DB> {
  return new Kysely<DB>(kyselyProps((query) => connection.execute(query)))
}

/** What a unit of writing is handed: the same as kysely's own, but begin and commit are the group's. */
export function createTransaction<DB>(execute: Execute): Transaction<DB> {
  return new Transaction<DB>(kyselyProps(execute))
}

// Kysely's usual way to a connection takes a mutex and a dozen promises per statement; here nothing can overlap, so
// each statement goes to the connection at once.
function kyselyProps(execute: Execute): KyselyProps {
  const connection: DatabaseConnection = {
    async executeQuery<R>(query: CompiledQuery) {
      return execute(query) as QueryResult<R>
    },
    streamQuery() {
      // An open cursor would hold all later reads of the connection at an old state.
      throw new Error('Streaming is not supported; read in pages by key.')
    },
  }
  const executor = new DefaultQueryExecutor(compiler, adapter, {
    provideConnection: (consumer) => consumer(connection),
  })
  return { config, dialect, driver, executor }
}

const compiler = new SqliteQueryCompiler()
const adapter = new SqliteAdapter()
const { dialect, driver } = createUnitDialect({ adapter, compiler, introspect: (db) => new SqliteIntrospector(db) })
const config = { dialect }
