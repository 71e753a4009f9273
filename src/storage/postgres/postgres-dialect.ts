import {
  type ColumnDefinitionNode,
  type CompiledQuery,
  type DatabaseConnection,
  DataTypeNode,
  DefaultQueryExecutor,
  HandleEmptyInListsPlugin,
  Kysely,
  type KyselyProps,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryResult,
  RawNode,
  replaceWithNoncontingentExpression,
  Transaction,
} from 'kysely'
import { createUnitDialect } from '../unit-dialect.ts'

export type Execute = (query: CompiledQuery) => Promise<QueryResult<unknown>>

/** Each query on whichever connection `execute` gives it. */
export function createKysely<DB>(execute: Execute): Kysely<DB> {
  return new Kysely<DB>(kyselyProps(execute))
}

/** What a unit of writing is handed: the same as kysely's own, but begin and commit are the unit's. */
export function createTransaction<DB>(execute: Execute): Transaction<DB> {
  return new Transaction<DB>(kyselyProps(execute))
}

function kyselyProps(execute: Execute): KyselyProps {
  const connection: DatabaseConnection = {
    executeQuery: <R>(query: CompiledQuery) => execute(query) as Promise<QueryResult<R>>,
    streamQuery() {
      throw new Error('Streaming is not supported; read in pages by key.')
    },
  }
  const provider = {
    provideConnection: <T>(consumer: (given: DatabaseConnection) => Promise<T>) => consumer(connection),
  }
  return { config, dialect, driver, executor: new DefaultQueryExecutor(compiler, adapter, provider, plugins) }
}

/** The types of the migrations, as what behaves the way it does in SQLite. */
const columnTypes: Record<string, string> = {
  text: 'text collate "C"',
  integer: 'bigint',
  blob: 'bytea',
}

class Compiler extends PostgresQueryCompiler {
  protected override visitColumnDefinition(node: ColumnDefinitionNode): void {
    const { dataType } = node
    const other = DataTypeNode.is(dataType) ? columnTypes[dataType.dataType as string] : undefined
    super.visitColumnDefinition(other ? { ...node, dataType: RawNode.createWithSql(other) } : node)
  }
}

const compiler = new Compiler()
const adapter = new PostgresAdapter()
// PostgreSQL has no empty list.
const plugins = [new HandleEmptyInListsPlugin({ strategy: replaceWithNoncontingentExpression })]
const { dialect, driver } = createUnitDialect({ adapter, compiler, introspect: (db) => new PostgresIntrospector(db) })
const config = { dialect }
