import {
  type Compilable,
  type CompiledQuery,
  type ConnectionProvider,
  type DatabaseConnection,
  DefaultQueryExecutor,
  type Dialect,
  type DialectAdapter,
  type Driver,
  Kysely,
  type KyselyPlugin,
  type KyselyProps,
  type OperationNode,
  type QueryCompiler,
  type QueryResult,
  type RootOperationNode,
  TableNode,
  Transaction,
} from 'kysely'
import { sha256 } from '../base/ids.ts'
import { errorType } from '../base/telemetry/metrics.ts'
import type { Telemetry } from '../base/telemetry/telemetry.ts'
import type { Tables } from './tables.ts'

export type Reader = Kysely<Tables>
export type Writer = Transaction<Tables>

export interface UnitOptions {
  /**
   * Use row locks instead of serializable isolation: this unit conflicts with another one only in a row that both
   * write, not in rows that it only reads. For units that write the row by which they decide.
   */
  meets?: 'rows'
}

/**
 * The only access to the data, the same for every engine.
 *
 * Reads see only committed data. A write unit is atomic, and durable when its promise resolves. Units that wait at the
 * same moment may share one commit; a unit that fails does not affect the others.
 *
 * A unit must only wait for its own statements: no model, no tool, no timer, no other unit. It may be run again from
 * its start, so it must have no other side effects.
 * A full disk rejects with code `storage_full` and leaves the database unchanged; the next unit is tried normally.
 */
export interface Database {
  readonly engine: 'sqlite' | 'postgres'
  readonly read: Reader
  readonly textSearch: TextSearch
  readonly vectorSearch: VectorSearch
  write<T>(unit: (writer: Writer) => Promise<T>, options?: UnitOptions): Promise<T>
  /**
   * Writes a consistent copy to `path` (which must not exist) while the database stays in use. Reports progress in
   * pages.
   */
  backup(path: string, onProgress?: (done: number, total: number) => void): Promise<void>
  sizeInBytes(): Promise<number>
  /** An empty list means that the database is sound. */
  checkIntegrity(): Promise<string[]>
  /**
   * Removes deleted data from the file and the write-ahead log, to the last byte. Backups stay as they are. The file is
   * rewritten: reads continue meanwhile, writes wait. (On PostgreSQL the promise is weaker: its log and replicas keep
   * data as long as they are configured to.)
   */
  scrub(signal?: AbortSignal): Promise<void>
  /** Marks the shutdown as clean and releases the files. */
  close(): Promise<void>
}

/** The same database, which also records how long write units take and how often they are retried. */
export function watchUnits<Opened extends Database>(database: Opened, telemetry: Telemetry): Opened {
  const system = { 'db.system.name': database.engine === 'postgres' ? 'postgresql' : database.engine }
  return {
    ...database,
    async write<T>(...[unit, options]: Parameters<typeof database.write<T>>): Promise<T> {
      const startedAt = performance.now()
      let runs = 0
      let failure: { 'error.type'?: string } = {}
      try {
        return await database.write((writer) => {
          runs += 1
          return unit(writer)
        }, options)
      } catch (cause) {
        failure = { 'error.type': errorType(cause) }
        throw cause
      } finally {
        const labels = { ...system, 'db.operation.name': 'write', ...failure }
        telemetry.record('db.client.operation.duration', labels, (performance.now() - startedAt) / 1_000)
        telemetry.add('familiar.database.retries', system, runs - 1)
      }
    },
  }
}

// In UTF-8. PostgreSQL indexes at most 2,704 bytes per entry, and one entry may hold two such keys beside ids.
const maxKeyBytes = 1_000
const beginning = 200

/**
 * Limit for a text that is indexed as it is, with only ids beside it: for columns that are also shown and therefore
 * cannot be replaced by a key.
 */
export const maxIndexedBytes = 2_500

/**
 * A text in a form that fits an index: itself if it is short, otherwise its beginning and its hash. Equal texts have
 * equal keys, different texts different ones. For comparing only, never for display. Rows are stored by this key, so
 * changing it needs a migration.
 */
export function toIndexKey(text: string): string {
  return isIndexKey(text) ? text : `${text.slice(0, beginning).toWellFormed()}~${sha256(text)}`
}

/** True if the text is its own index key. */
export function isIndexKey(text: string): boolean {
  return Buffer.byteLength(text) <= maxKeyBytes
}

export function fitsIndex(text: string): boolean {
  return Buffer.byteLength(text) <= maxIndexedBytes
}

/** Stands for a value that is bound later. */
class Placeholder {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/**
 * A query that every turn runs: built and compiled once per engine, then run with new values each time, because
 * building and compiling takes longer than most of these statements. Its shape must not depend on the values.
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

export interface TextEntry {
  collection: string
  userId: string
  id: string
  text: string
}

export interface TextMatch {
  id: string
  /** Larger is better; comparable only within one result. */
  score: number
}

/**
 * Full-text search by BM25, with stemmed words joined by OR. A rare word counts more, and each word counts once per
 * text; of two texts with the same words the shorter one wins, then the newer one. The query is plain words, never
 * syntax, so no query text can break it. `collection` names what is searched (`notes`, …); ids are unique inside it.
 */
export interface TextSearch {
  index(writer: Writer, entry: TextEntry): Promise<void>
  remove(writer: Writer, entry: { collection: string; id: string }): Promise<void>
  /** Everything of one user, in all collections. */
  removeUser(writer: Writer, userId: string): Promise<void>
  search(query: {
    collection: string
    userId: string
    words: string
    limit: number
    /** Search only these ids; undefined searches everything. */
    within?: readonly string[] | undefined
    /** Only texts with all of the words, as a person expects of a search field. Default: any of them. */
    isEveryWord?: boolean
    /** The last word may be the beginning of one: it is still being typed. */
    isTyping?: boolean
  }): Promise<TextMatch[]>
  /** The ids of texts that contain all of the words, in no order. Empty if there are no words. */
  withAll(query: { collection: string; userId: string; words: readonly string[]; limit: number }): Promise<string[]>
  /**
   * Removes the words of deleted texts from the index permanently; until then they remain there, unused. Works in small
   * units so that others can write in between; on a large index it takes minutes.
   */
  scrub(signal?: AbortSignal): Promise<void>
}

/**
 * Kysely for an engine whose connections and transactions are managed by the code that opened the database, never by
 * kysely. Its default connection handling takes a mutex and a dozen promises per statement; here each statement goes to
 * `execute` directly.
 */
export function createEngine(engine: {
  adapter: DialectAdapter
  compiler: QueryCompiler
  introspect: Dialect['createIntrospector']
  plugins?: KyselyPlugin[]
}) {
  const { adapter, compiler, introspect, plugins = [] } = engine
  const dialect: Dialect = {
    createAdapter: () => adapter,
    createDriver: () => driver,
    createIntrospector: introspect,
    createQueryCompiler: () => compiler,
  }

  function propsFor(execute: Execute): KyselyProps {
    const connection: DatabaseConnection = {
      async executeQuery<R>(query: CompiledQuery) {
        return (await execute(query)) as QueryResult<R>
      },
      streamQuery() {
        // An open cursor would keep all later reads of the connection at an old state.
        throw new Error('Streaming is not supported; read in pages by key.')
      },
    }
    const provider: ConnectionProvider = { provideConnection: (consumer) => consumer(connection) }
    const executor = new DefaultQueryExecutor(compiler, adapter, provider, plugins)
    return { config: { dialect }, dialect, driver, executor }
  }

  return {
    createKysely: <DB>(execute: Execute) => new Kysely<DB>(propsFor(execute)),
    /** Passed to a write unit: kysely's own transaction, except that the unit's owner controls begin and commit. */
    createTransaction: <DB>(execute: Execute) => new Transaction<DB>(propsFor(execute)),
  }
}

type Execute = (query: CompiledQuery) => QueryResult<unknown> | Promise<QueryResult<unknown>>

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
  throw new Error('Use database.write() for transactions.')
}

const scaleBytes = 4
const largest = 127

/**
 * The format of `memory_vectors`: a little-endian 32-bit float, then one signed byte per dimension. A byte times that
 * float gives the number again, with an error of at most half the float.
 */
export function toVectorBytes(vector: Float32Array): Uint8Array {
  let furthest = 0
  for (const value of vector) {
    if (!Number.isFinite(value)) throw new RangeError('A vector must contain finite numbers only')
    furthest = Math.max(furthest, Math.abs(value))
  }
  // Rounded to the four-byte float that the reader will see. Zero for a vector of zeros, or of numbers too small to
  // distinguish.
  const scale = Math.fround(furthest / largest)
  const bytes = new Uint8Array(scaleBytes + vector.length)
  new DataView(bytes.buffer).setFloat32(0, scale, true)
  if (scale === 0) return bytes
  const numbers = new Int8Array(bytes.buffer, scaleBytes)
  for (let index = 0; index < vector.length; index += 1) {
    const steps = Math.round((vector[index] ?? 0) / scale)
    numbers[index] = Math.max(-largest, Math.min(largest, steps))
  }
  return bytes
}

export function fromVectorBytes(bytes: Uint8Array): Float32Array {
  const scale = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getFloat32(0, true)
  return Float32Array.from(vectorNumbers(bytes), (steps) => steps * scale)
}

/** The signed bytes alone, without a copy: the angle between two vectors depends on nothing else. */
export function vectorNumbers(bytes: Uint8Array): Int8Array {
  if (bytes.length < scaleBytes) throw new RangeError('Too few bytes for a vector')
  return new Int8Array(bytes.buffer, bytes.byteOffset + scaleBytes, bytes.length - scaleBytes)
}

export interface VectorMatch {
  /** The number of the memory. */
  number: number
  /** Cosine: 1 means the same direction. */
  score: number
}

/**
 * Finds the nearest vectors among those of one user and one model. It sees everything committed to `memory_vectors`
 * before the question. Vectors deleted since the last read may still be among the results: callers read the memories by
 * their numbers anyway, and skip the missing ones.
 */
export interface VectorSearch {
  /** Best first. Empty if the user has no vectors of that model. */
  search(query: {
    userId: string
    model: string
    vector: Float32Array
    limit: number
    signal?: AbortSignal
  }): Promise<VectorMatch[]>
  /** The search method in a few words, for display. */
  describe(): Promise<string>
  close(): Promise<void>
}

/**
 * The same database; after each commit `onWritten` receives the tables that the unit wrote to through the query
 * builder. (Raw SQL is not seen.)
 */
export function watchTables<Opened extends Database>(
  database: Opened,
  onWritten: (tables: ReadonlySet<string>) => void,
): Opened {
  return {
    ...database,
    async write(unit, options) {
      let tables = new Set<string>()
      const result = await database.write((writer) => {
        // Reset here because the unit may be run again from its start.
        tables = new Set()
        return unit(writer.withPlugin(noteTables(tables)) as Writer)
      }, options)
      if (tables.size > 0) onWritten(tables)
      return result
    },
  }
}

function noteTables(tables: Set<string>): KyselyPlugin {
  return {
    transformQuery({ node }) {
      const name = writtenTable(node)
      if (name !== undefined) tables.add(name)
      return node
    },
    transformResult: async ({ result }) => result,
  }
}

function writtenTable(node: RootOperationNode): string | undefined {
  let table: OperationNode | undefined
  if (node.kind === 'InsertQueryNode') table = node.into
  else if (node.kind === 'UpdateQueryNode') table = node.table
  else if (node.kind === 'DeleteQueryNode') table = node.from.froms[0]
  return table && TableNode.is(table) ? table.table.identifier.name : undefined
}

/**
 * The same database, with a notification after each write. The listener runs after the commit and gets no details;
 * failed units do not trigger it.
 */
export function watchWrites<Opened extends Database>(database: Opened) {
  const listeners = new Set<() => void>()
  const watched: Opened = {
    ...database,
    async write(unit, options) {
      const result = await database.write(unit, options)
      for (const listener of listeners) listener()
      return result
    },
  }
  return {
    database: watched,
    /** Calls the listener until the returned function is called. */
    onWrite(listener: () => void) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
}
