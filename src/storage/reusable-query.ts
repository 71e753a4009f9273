import type { Compilable, CompiledQuery, DialectAdapter, QueryResult } from 'kysely'
import type { Reader, Writer } from './database.ts'

/** Stands where a value will be. */
class Placeholder {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/**
 * A query that every turn runs: built and compiled once per engine, then run with ever new values. Building and compiling
 * takes longer than most of these statements themselves. Its shape must not depend on the values.
 */
export function reusableQuery<Values extends object, Row>(
  build: (database: Reader | Writer, values: Values) => Compilable<Row>,
): (database: Reader | Writer, values: Values) => Promise<QueryResult<Row>> {
  const compiledFor = new WeakMap<DialectAdapter, CompiledQuery<Row>>()
  const placeholders = new Proxy({}, { get: (_target, name) => new Placeholder(String(name)) }) as Values

  return (database, values) => {
    const { adapter } = database.getExecutor()
    let compiled = compiledFor.get(adapter)
    if (!compiled) {
      compiled = build(database, placeholders).compile()
      compiledFor.set(adapter, compiled)
    }
    const parameters = compiled.parameters.map((parameter) =>
      parameter instanceof Placeholder ? values[parameter.name as keyof Values] : parameter,
    )
    return database.executeQuery({ ...compiled, parameters })
  }
}
