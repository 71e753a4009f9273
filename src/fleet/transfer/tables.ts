import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Database } from '../../storage/database.ts'
import type { Tables } from '../../storage/tables.ts'

/** A database of which one state is read and nothing is written, as it was found: it is not migrated. */
export interface TransferSource extends TransferEnd {
  readonly pending: readonly string[]
  readonly isEmpty: boolean
  /** It is what an interrupted move left. */
  readonly isUnfinished: boolean
  close(): Promise<void>
}

/**
 * Every table of the program under the columns of its primary key, parents before those that refer to them: rows are
 * written in this order. A table that is missing here does not compile.
 */
export const movedTables: Record<Exclude<keyof Tables, TablesOfTheMoment>, readonly string[]> = {
  users: ['id'],
  access_tokens: ['id'],
  browsers: ['id'],
  one_time_links: ['id'],
  sessions: ['id'],
  session_events: ['session_id', 'seq'],
  session_snapshots: ['session_id'],
  session_views: ['session_id'],
  session_folders: ['id'],
  inbox: ['id'],
  media: ['hash'],
  cost_ledger: ['id'],
  cost_totals: ['user_id', 'period'],
  memories: ['number'],
  facts: ['id'],
  episodes: ['id'],
  commitments: ['id'],
  memory_files: ['id'],
  chunks: ['id'],
  entity_aliases: ['user_id', 'alias_key', 'entity_key'],
  fact_attributes: ['user_id', 'attribute_key'],
  memory_edges: ['source_id', 'target_id', 'relation'],
  memory_vectors: ['place'],
  memory_tags: ['user_id', 'tag', 'number'],
  memory_changes: ['id'],
  memory_marks: ['user_id', 'name'],
  memory_speakers: ['user_id', 'name'],
  tool_weights: ['user_id', 'topic', 'tool'],
  tool_states: ['name'],
  tool_settings: ['user_id', 'tool', 'key'],
  tool_vectors: ['tool', 'model'],
  tool_calls: ['id'],
  client_telemetry: ['user_id'],
  secrets: ['user_id', 'owner', 'name'],
  approvals: ['id'],
  grants: ['id'],
  trigger_runs: ['id'],
  webhook_nonces: ['tool', 'nonce'],
  capabilities: ['id'],
  capability_versions: ['capability_id', 'version'],
  capability_storage: ['capability_id', 'key'],
  capability_vectors: ['capability_id', 'model'],
  builds: ['id'],
  build_events: ['build_id', 'seq'],
  build_questions: ['id'],
  build_files: ['build_id', 'path'],
  blocks: ['user_id', 'label'],
  asset_versions: ['user_id', 'uri', 'version'],
  untrusted_files: ['user_id', 'hash'],
  pins: ['user_id', 'agent', 'label'],
  schedules: ['id'],
  schedule_runs: ['schedule_id', 'due_at'],
  spawns: ['id'],
  client_calls: ['session_id', 'call_id'],
  outbox: ['id'],
  delivery_cursors: ['channel', 'session_id'],
  channel_marks: ['channel', 'name'],
  channel_contacts: ['channel', 'address'],
  pairing_codes: ['id'],
}

/** Tables about running daemons, without meaning when none runs. */
type TablesOfTheMoment = 'daemons' | 'session_holders'

/** Tables that are not moved: internal ones of the engine, and those that are rebuilt from the moved rows. */
function isRebuilt(table: string): boolean {
  return ofTheMoment.has(table) || bookkeeping.has(table) || /^text_(scopes|entries|index)/.test(table)
}

const ofTheMoment: ReadonlySet<string> = new Set<TablesOfTheMoment>(['daemons', 'session_holders'])

export const progressTable = 'transfer_progress'
const bookkeeping: ReadonlySet<string> = new Set(['schema_migrations', progressTable])

export interface TransferEnd {
  readonly engine: Database['engine']
  // biome-ignore lint/suspicious/noExplicitAny: which table it reads is known only when it runs.
  readonly read: Kysely<any>
}

export interface TablePlan {
  name: string
  /** The columns of its primary key, in their order. */
  key: readonly string[]
  columns: readonly string[]
  /** Those whose values can be of any length. */
  longColumns: readonly string[]
}

/**
 * The tables to move, in the order of writing. Refuses if one side has a table or column that the other one lacks or
 * that this program cannot move, so that nothing is left behind unnoticed.
 */
export async function planTables(source: TransferEnd, target: TransferEnd): Promise<TablePlan[]> {
  const [here, there] = [await readSchema(source), await readSchema(target)]
  for (const table of new Set([...here.keys(), ...there.keys()])) {
    if (!isRebuilt(table) && !Object.hasOwn(movedTables, table)) {
      throw new FamiliarError('conflict', `The table ${table} cannot be moved. Nothing was moved.`)
    }
  }
  return Object.entries(movedTables).map(([name, key]) => {
    const columns = here.get(name) ?? []
    const found = there.get(name) ?? []
    if (columns.length === 0 || describe(columns) !== describe(found)) {
      throw new FamiliarError('conflict', `The table ${name} differs between source and target. Nothing was moved.`)
    }
    const longColumns = columns.filter(({ isLong }) => isLong).map((column) => column.name)
    return { name, key, columns: columns.map((column) => column.name), longColumns }
  })
}

interface Column {
  name: string
  isLong: boolean
}

interface ColumnRow {
  table: string
  name: string
  type: string
}

async function readSchema({ engine, read }: TransferEnd): Promise<Map<string, Column[]>> {
  const columns = await (engine === 'sqlite' ? columnsOfFile : columnsOfServer).execute(read)
  const all = columns.rows.map(({ table, name, type }) => ({ table, name, isLong: /text|blob|bytea/i.test(type) }))
  return Map.groupBy(all, ({ table }) => table)
}

const columnsOfFile = sql<ColumnRow>`
  select tables.name as "table", columns.name as name, columns.type as type
  from sqlite_schema as tables, pragma_table_info(tables.name) as columns
  where tables.type = 'table' and tables.name not like 'sqlite!_%' escape '!'`

const columnsOfServer = sql<ColumnRow>`
  select tables.table_name::text as "table", columns.column_name::text as name, columns.data_type::text as type
  from information_schema.tables as tables
  join information_schema.columns as columns using (table_schema, table_name)
  where tables.table_schema = current_schema() and tables.table_type = 'BASE TABLE'`

function describe(columns: readonly Column[]): string {
  return columns
    .map(({ name, isLong }) => `${name} ${isLong}`)
    .sort()
    .join()
}

/** The name of a table with rows; undefined if nothing was ever written. */
export async function findRows(end: TransferEnd): Promise<string | undefined> {
  for (const name of (await readSchema(end)).keys()) {
    if (isRebuilt(name) && !ofTheMoment.has(name)) continue
    const row = await end.read.selectFrom(name).selectAll().limit(1).executeTakeFirst()
    if (row) return name
  }
  return undefined
}

export type Key = readonly CellValue[]

const rowsPerPage = 200
const bytesPerPage = 1024 * 1024
/** Parameters per statement: the limit is 32,766 in SQLite and 65,535 in PostgreSQL. */
const maxValues = 32_000

/**
 * The rows of a table in the order of its key, from after `after` on, with the key of the last one. A page is some hundred rows, or less where they are
 * large: memory does not grow with the table, nor with a few long texts in a row.
 */
export async function* readPages(
  end: TransferEnd,
  table: TablePlan,
  after: Key | null = null,
): AsyncGenerator<{ rows: readonly Row[]; last: Key }> {
  const limit = Math.min(rowsPerPage, Math.floor(maxValues / table.columns.length))
  for (let from = after; ; ) {
    const until = await endOfPage(end, { table, from, limit })
    if (!until) return
    const rows = await select(end, { table, from })
      .where(compare(table.key, '<=', until))
      .select(table.columns.map((name) => sql.ref<CellValue>(name).as(name)))
      .orderBy(inOrderOf(table))
      .execute()
    yield { rows: rows as Row[], last: until }
    from = until
  }
}

/** The key of the last row that still fits. Sizes are looked up first: they are known without reading the values. */
async function endOfPage(
  end: TransferEnd,
  { table, from, limit }: { table: TablePlan; from: Key | null; limit: number },
): Promise<Key | undefined> {
  const lengths = table.longColumns.map((name) => sql`coalesce(octet_length(${sql.ref(name)}), 0)`)
  const sizes = (await select(end, { table, from })
    .select(table.key.map((name) => sql.ref<CellValue>(name).as(name)))
    .select(sql<number>`${lengths.length > 0 ? sql.join(lengths, sql` + `) : sql.lit(0)}`.as('size_of_row'))
    .orderBy(inOrderOf(table))
    .limit(limit)
    .execute()) as Record<string, CellValue>[]
  let bytes = 0
  const tooMany = sizes.findIndex((row) => {
    bytes += Number(row.size_of_row)
    return bytes > bytesPerPage
  })
  // A row that is too large for any page is a page of its own.
  const last = sizes.at(tooMany < 0 ? -1 : Math.max(0, tooMany - 1))
  return last && table.key.map((name) => last[name] as CellValue)
}

function select(end: TransferEnd, { table, from }: { table: TablePlan; from: Key | null }) {
  const query = end.read.selectFrom(table.name)
  return from ? query.where(compare(table.key, '>', from)) : query
}

function inOrderOf({ key }: TablePlan) {
  return sql.join(key.map((name) => sql.ref(name)))
}

function compare(key: readonly string[], operator: '>' | '<=', values: Key) {
  const columns = sql.join(key.map((name) => sql.ref(name)))
  return sql<boolean>`(${columns}) ${sql.raw(operator)} (${sql.join([...values])})`
}

/** The values that both engines return for a column. */
export type CellValue = string | number | Uint8Array | null
export type Row = Readonly<Record<string, CellValue>>

const modulus = 1n << 256n

/**
 * The sum of the rows' own hashes, in any order: engines need not sort alike. Two sets of rows that differ in one value, one row or one column have different sums,
 * but for a chance that will not happen by accident.
 */
export function createRowChecksum(columns: readonly string[]) {
  const names = columns.toSorted()
  let rows = 0
  let sum = 0n
  return {
    get rows() {
      return rows
    },
    add(row: Row) {
      const hash = createHash('sha256')
      for (const name of names) addValue(hash, name, row[name])
      sum = (sum + BigInt(`0x${hash.digest('hex')}`)) % modulus
      rows += 1
    },
    digest: () => sum.toString(16).padStart(64, '0'),
  }
}

/** Its kind, its length and its bytes: no two rows are written alike. */
function addValue(hash: ReturnType<typeof createHash>, name: string, value: CellValue | undefined): void {
  if (value === null) hash.update(`${name}-;`)
  // The shortest text that means this very number. SQLite has one zero, so the other one counts as the same.
  else if (typeof value === 'number') hash.update(`${name}#${Object.is(value, -0) ? 0 : value};`)
  else if (typeof value === 'string') hash.update(`${name}"${Buffer.byteLength(value)}:`).update(value)
  else if (value instanceof Uint8Array) hash.update(`${name}*${value.length}:`).update(value)
  else throw new TypeError(`A row has ${typeof value} in its column ${name}`)
}

export interface TableChecksum {
  name: string
  rows: number
  checksum: string
}

/** Reads all rows. `onRows` gets the number of rows read since the last call. */
export async function readChecksums(
  end: TransferEnd,
  tables: readonly TablePlan[],
  { onRows, signal }: { onRows: (table: string, rows: number) => void; signal: AbortSignal },
): Promise<TableChecksum[]> {
  const checksums: TableChecksum[] = []
  for (const table of tables) {
    const checksum = createRowChecksum(table.columns)
    for await (const page of readPages(end, table)) {
      signal.throwIfAborted()
      for (const row of page.rows) checksum.add(row)
      onRows(table.name, page.rows.length)
    }
    checksums.push({ name: table.name, rows: checksum.rows, checksum: checksum.digest() })
  }
  return checksums
}

/** The names of those that are not the same. */
export function differences(expected: readonly TableChecksum[], found: readonly TableChecksum[]): string[] {
  const byName = new Map(found.map((table) => [table.name, table]))
  const isOther = ({ name, rows, checksum }: TableChecksum) => {
    const other = byName.get(name)
    return other?.rows !== rows || other.checksum !== checksum
  }
  return expected.filter(isOther).map(({ name }) => name)
}
