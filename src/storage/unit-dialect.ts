import type { Dialect, DialectAdapter, Driver, QueryCompiler } from 'kysely'

/** What an engine is to kysely. */
interface Engine {
  adapter: DialectAdapter
  compiler: QueryCompiler
  introspect: Dialect['createIntrospector']
}

/** A dialect whose connections and transactions are made by whoever opened the database, never by kysely. */
export function createUnitDialect({ adapter, compiler, introspect }: Engine): { dialect: Dialect; driver: Driver } {
  const dialect: Dialect = {
    createAdapter: () => adapter,
    createDriver: () => driver,
    createIntrospector: introspect,
    createQueryCompiler: () => compiler,
  }
  return { dialect, driver }
}

const driver: Driver = {
  async init() {},
  async destroy() {},
  acquireConnection: refuse,
  releaseConnection: refuse,
  beginTransaction: refuse,
  commitTransaction: refuse,
  rollbackTransaction: refuse,
}

async function refuse(): Promise<never> {
  throw new Error('Transactions are made by database.write() only.')
}
