// Imported from the module, so that tests with fake timers do not block reads.
import { setTimeout as pause } from 'node:timers/promises'
import { type CompiledQuery, type Kysely, type QueryResult, sql } from 'kysely'
import type pg from 'pg'
import type { Clock } from '../../base/clock.ts'
import type { Logger } from '../../base/logger.ts'
import { FamiliarError } from '../../protocol/errors.ts'
import type { Database, Reader, TextSearch } from '../database.ts'
import { allMigrations } from '../migrations/all-migrations.ts'
import {
  applyMigrations,
  type Migration,
  type MigrationEngine,
  planMigrations,
  readAppliedMigrations,
} from '../migrations/migration.ts'
import type { Tables } from '../tables.ts'
import { createBestSlots } from '../vectors/stored-vectors.ts'
import {
  lengthFactor,
  parseNumbers,
  toQueryWords,
  toSoughtBeginning,
  toSoughtWords,
  wordBeingTyped,
  wordWeight,
} from '../words.ts'
import {
  type ConnectionPool,
  createKysely,
  createPostgresPools,
  createStatementNames,
  isConnectionLost,
  isStalePlan,
  type NameStatement,
  type PostgresPools,
  runStatement,
  toStorageError,
  type Wiring,
} from './connection.ts'
import {
  createPostgresTextIndex,
  indexText,
  reindexText,
  removeText,
  removeTextsOf,
  replacePostgresTextIndex,
  scopeOf,
} from './text-index.ts'
import { createPostgresVectorSearch } from './vector-search.ts'
import { createUnits } from './write-units.ts'

export interface PostgresDatabase extends Database {
  /** Raw connections for jobs and notices. Values have pg's own types. */
  readonly pool: pg.Pool
}

export interface OpenPostgresOptions {
  /** `postgres://user:password@host:port/database` */
  url: string
  clock: Clock
  log?: Pick<Logger, 'info' | 'warn'>
  /** Removes secrets from every text before it is stored. JSON must stay valid JSON. */
  redact?: (text: string) => string
  migrations?: readonly Migration[]
  /** The maximum number of connections of this process. */
  poolSize?: number
}

/**
 * Opens the database that any number of daemons may share, and creates or migrates its tables. If it cannot be used,
 * rejects with a message for the user and leaves the database unchanged.
 */
export async function openPostgres(options: OpenPostgresOptions): Promise<PostgresDatabase> {
  const { url, clock, log, redact, migrations = allMigrations, poolSize = 20 } = options
  const pools = createPostgresPools({ url, size: poolSize, log })
  const wiring: Wiring = { nameStatement: createStatementNames(), redact }
  try {
    const applied = await migratePostgres({ pools, wiring, known: migrations, now: clock.now() })
    if (applied.length > 0) log?.info('database migrated', { applied: applied.join(', ') })
  } catch (error) {
    await pools.end()
    throw toStorageError(error, pools.place)
  }
  return createPostgresDatabase({ ...options, pools, wiring })
}

function createPostgresDatabase(
  options: Pick<OpenPostgresOptions, 'url' | 'clock' | 'log'> & { pools: PostgresPools; wiring: Wiring },
): PostgresDatabase {
  const { pools, wiring } = options
  const { writing, place } = pools
  // One connection is reserved for the jobs, which share the pool.
  const units = createUnits({ pool: writing, place, wiring, concurrency: Math.max(1, writing.raw.options.max - 1) })
  const { nameStatement, redact } = wiring
  const read: Reader = createKysely<Tables>((query) => readStatement({ pools, query, nameStatement }))
  const textSearch = createPostgresTextSearch({ read, redact })
  const vectorSearch = createPostgresVectorSearch(options)
  let closing: Promise<void> | undefined

  async function letGo(): Promise<void> {
    await Promise.allSettled([units.close(), vectorSearch.close()])
    await pools.end()
  }

  return {
    engine: 'postgres',
    pool: writing.raw,
    read,
    textSearch,
    vectorSearch,
    write: units.write,
    async backup() {
      throw new FamiliarError(
        'bad_request',
        'PostgreSQL makes its own backups: copy this database with pg_dump. To copy it to a file: familiar migrate --to <file>',
      )
    },
    async sizeInBytes() {
      const { rows } = await sql<{ bytes: number }>`select pg_database_size(current_database()) as bytes`.execute(read)
      return rows[0]?.bytes ?? 0
    },
    checkIntegrity: () => inspectPostgres(read),
    async scrub(signal) {
      await textSearch.scrub(signal)
      await vacuumTables(writing, signal)
    },
    close() {
      closing ??= letGo()
      return closing
    },
  }
}

/**
 * Checks that are possible from outside: pages with failed checksums (if the server keeps checksums), invalid indexes,
 * tables that cannot be read to the end, and, with the extension `amcheck`, indexes out of order.
 */
async function inspectPostgres(read: Reader): Promise<string[]> {
  const problems: string[] = []
  const checksums = await sql<{ failures: number | null }>`
    select checksum_failures as failures from pg_stat_database where datname = current_database()`.execute(read)
  const failures = checksums.rows[0]?.failures ?? 0
  if (failures > 0) problems.push(`${failures} pages of the database failed their checksum`)

  const { rows: indexes } = await sql<{ name: string; isValid: number; isTree: number; id: number }>`
    select pg_class.relname::text as name, (indisvalid and indisready)::int as "isValid",
      (pg_am.amname = 'btree')::int as "isTree", indexrelid::int8 as id
    from pg_index join pg_class on pg_class.oid = indexrelid join pg_am on pg_am.oid = pg_class.relam
    where relnamespace = current_schema()::regnamespace order by name`.execute(read)
  for (const { name, isValid } of indexes) if (!isValid) problems.push(`the index ${name} is not valid`)
  const trees = (await hasAmcheck(read)) ? indexes.filter(({ isTree, isValid }) => isTree && isValid) : []
  for (const { name, id } of trees) {
    const checked = sql`select bt_index_check(${id}::oid::regclass)`.execute(read)
    await checked.catch((error: Error) => problems.push(`the index ${name}: ${error.message}`))
  }

  const { rows: tables } = await sql<{ name: string }>`
    select relname::text as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind = 'r' order by name`.execute(read)
  for (const { name } of tables) {
    const counted = sql`select count(*) from ${sql.table(name)}`.execute(read)
    await counted.catch((error: Error) => problems.push(`the table ${name}: ${error.message}`))
  }
  return problems
}

/** The extension exists and this user may use it: by default only a superuser may. */
async function hasAmcheck(read: Reader): Promise<boolean> {
  const { rows } = await sql<{ id: number }>`
    select pg_proc.oid::int8 as id from pg_proc join pg_depend on objid = pg_proc.oid and deptype = 'e'
    join pg_extension on pg_extension.oid = refobjid
    where extname = 'amcheck' and proname = 'bt_index_check' and has_function_privilege(pg_proc.oid, 'execute')`.execute(
    read,
  )
  return rows.length > 0
}

/** "FAMI": the migrating process holds this lock, and others that start meanwhile wait for it. */
const migrationLock = 0x46414d49
const oldestVersion = 140_000

/**
 * Migrates the tables to the current version, all or nothing, even if many daemons start at once. Rejects, without
 * changing anything, a server that is too old, a database of another program, and one that a newer version has
 * migrated. Returns the names of the applied migrations.
 */
function migratePostgres(options: {
  pools: PostgresPools
  wiring: Wiring
  known: readonly Migration[]
  now: number
}): Promise<string[]> {
  const { pools, wiring, known, now } = options
  const { place } = pools
  return pools.writing.use(async (client) => {
    const db = createKysely<unknown>((query: CompiledQuery) => runStatement(client, query, wiring))
    await refuseServer(db, place)
    await client.query('begin')
    // A transaction-level lock: released at commit, or when the process ends.
    await sql`select pg_advisory_xact_lock(${sql.lit(migrationLock)})`.execute(db)
    // Waiting for the lock, or changing a large table, may take longer than any unit.
    await client.query('set local idle_in_transaction_session_timeout = 0')
    const applied = (await hasMigrations(db, place)) ? await readAppliedMigrations(db) : []
    const pending = planMigrations(applied, known)
    if (pending.length > 0) await applyMigrations({ db, engine: postgresMigrationEngine, pending, now })
    await client.query('commit')
    return pending.map(({ name }) => name)
  })
}

async function refuseServer(db: Kysely<unknown>, place: string): Promise<void> {
  const found = await sql<{ version: string; encoding: string; schema: string | null }>`
    select current_setting('server_version_num') as version, current_setting('server_encoding') as encoding,
      current_schema() as schema`.execute(db)
  const { version, encoding, schema } = found.rows[0] ?? { version: '0', encoding: '', schema: null }
  if (Number(version) < oldestVersion) throw refused(`${place} runs on a version before 14. Update PostgreSQL.`)
  if (encoding !== 'UTF8')
    throw refused(`${place} uses the encoding ${encoding}. Create one with: createdb --encoding=UTF8`)
  if (schema === null) throw refused(`${place} has no schema in the search_path of its user.`)
}

/** False if the database has no tables at all. */
async function hasMigrations(db: Kysely<unknown>, place: string): Promise<boolean> {
  const found = await sql<{ tables: number; columns: number }>`
    select
      (
        select count(*) from pg_class
        where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
          and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')
      ) as tables,
      (
        select count(*) from information_schema.columns
        where table_schema = current_schema() and table_name = 'schema_migrations'
          and column_name in ('name', 'applied_at')
      ) as columns`.execute(db)
  const { tables, columns } = found.rows[0] ?? { tables: 0, columns: 0 }
  if (tables > 0 && columns < 2) throw refused(`${place} contains tables of another program. Nothing was changed.`)
  return tables > 0
}

function refused(message: string): FamiliarError {
  return new FamiliarError('conflict', message)
}

const maxTries = 5

/** Reads committed data. Reads have no side effects, so a read that lost its connection is retried. */
async function readStatement(options: {
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
      if (!mayPass || tries === maxTries) throw toStorageError(error, pools.place)
      await pause(20 * 2 ** tries)
    }
  }
}

const postgresMigrationEngine: MigrationEngine = {
  name: 'postgres',
  createTextIndex: createPostgresTextIndex,
  replaceTextIndex: replacePostgresTextIndex,
  indexText,
  reindexText,
}

/** The texts that contain a word, and the word's weight. */
interface WeighedWord {
  /** The numbers of the texts, newest first. */
  numbers: Float64Array
  weight: number
}

/**
 * The texts with the highest total word weight, best first, newer ones first among equals: the same result as SQLite's
 * `rankByWords`. A user's numbers have gaps, because other users' texts lie between them, so the lists are merged.
 */
export function rankByNumbers(words: readonly WeighedWord[], limit: number): { number: number; weight: number }[] {
  const best = createBestSlots(limit, (number) => number)
  const next = words.map(() => 0)
  let least = Number.MIN_VALUE
  for (;;) {
    const number = newestOf(words, next)
    if (number === 0) break
    let weight = 0
    for (let at = 0; at < words.length; at += 1) {
      const word = words[at] as WeighedWord
      if (word.numbers[next[at] as number] !== number) continue
      weight = Math.fround(weight + word.weight)
      next[at] = (next[at] as number) + 1
    }
    if (weight >= least) least = Math.max(best.offer(number, weight), Number.MIN_VALUE)
  }
  return best.take().map(({ slot, score }) => ({ number: slot, weight: score }))
}

/** Zero at the end of all lists: numbers start at one. */
function newestOf(words: readonly WeighedWord[], next: readonly number[]): number {
  let newest = 0
  for (let at = 0; at < words.length; at += 1) {
    const number = (words[at] as WeighedWord).numbers[next[at] as number]
    if (number !== undefined && number > newest) newest = number
  }
  return newest
}

/** The texts of one user in one collection. */
interface ScopeFigures {
  texts: number
  /** Their lowest and highest number. */
  first: number
  newest: number
}

// Counting this many takes about a millisecond. Above that, the count is estimated from the range of numbers.
const maxCounted = 10_000

async function readScope(
  read: Reader,
  { collection, userId }: { collection: string; userId: string },
): Promise<ScopeFigures | undefined> {
  const found = await sql<{ counted: number; oldest: number; newest: number; first: number }>`
    select count(*) as counted, min(number) as oldest, max(number) as newest, (
      select min(number) from text_entries where user_id = ${userId} and collection = ${collection}
    ) as first
    from (
      select number from text_entries where user_id = ${userId} and collection = ${collection}
      order by number desc limit ${maxCounted}
    ) as counted`.execute(read)
  const [row] = found.rows
  if (!row || row.counted === 0) return undefined
  const { counted, oldest, newest, first } = row
  const texts = counted < maxCounted ? counted : Math.round(extrapolate(counted, oldest, { first, newest }))
  return { texts, first, newest }
}

/** The texts that contain each word, newest first, at most `most`. With a filter, only those texts. */
async function readNumbers(
  read: Reader,
  query: {
    collection: string
    userId: string
    words: readonly string[]
    most: number
    within?: readonly number[] | undefined
  },
): Promise<Map<string, Float64Array>> {
  const { collection, userId, words, most, within } = query
  const isWanted = within ? sql`and number = any(${within}::bigint[])` : sql``
  const found = await sql<{ word: string; numbers: string | null }>`
    select sought.word as word, (
      select string_agg(newest.number::text, ',') from (
        select number from text_index
        where scope = ${scopeOf(collection, userId)}::bigint and text_index.word = sought.word ${isWanted}
        order by number desc limit ${most}
      ) as newest
    ) as numbers
    from unnest(${words}::text[]) as sought (word)`.execute(read)
  return new Map(found.rows.map(({ word, numbers }) => [word, parseNumbers(numbers ?? '', Float64Array)]))
}

/** If only the newest were read, the total is extrapolated from their share of the range. */
function weigh(numbers: Float64Array, scope: ScopeFigures, isCut: boolean): number {
  const holding = isCut ? extrapolate(numbers.length, numbers.at(-1) ?? scope.first, scope) : numbers.length
  return wordWeight(Math.min(holding, scope.texts), scope.texts)
}

function extrapolate(count: number, oldest: number, { first, newest }: { first: number; newest: number }): number {
  return (count * (newest - first + 1)) / (newest - oldest + 1)
}

/** The numbers in all lists, in order. */
function inAll(lists: readonly Float64Array[]): Float64Array {
  const [first = new Float64Array(), ...others] = lists
  const held = others.map((list) => new Set(list))
  return held.length === 0 ? first : first.filter((number) => held.every((list) => list.has(number)))
}

/** The numbers in either list, newest first. */
function inAny(one: Float64Array, other: Float64Array): Float64Array {
  if (one.length === 0) return other
  return new Float64Array(new Set([...one, ...other])).sort().reverse()
}

// Limits the cost of a question regardless of the number of texts: above it, the most common words are looked up in the
// newest texts only.
const maxNumbers = 200_000
const fewestCandidates = 200

/** `redact` removes secrets before a text is split into words, when they can still be recognized. */
function createPostgresTextSearch({
  read,
  redact = (text) => text,
}: {
  read: Reader
  redact?: ((text: string) => string) | undefined
}): TextSearch {
  type Query = Parameters<TextSearch['search']>[0]

  /** `beginning`: of the last phrase, a single word that may go on. */
  async function rank(query: Query, phrases: string[][], scope: ScopeFigures, beginning: string | undefined) {
    const { collection, userId, limit, within, isEveryWord = false } = query
    const words = [...new Set(phrases.flat())]
    const most = Math.floor(maxNumbers / words.length)
    const allowed = within && (await readAllowed(collection, userId, within))
    if (allowed?.length === 0) return []
    const found = await readNumbers(read, { collection, userId, words, most, within: allowed })
    const begun =
      beginning === undefined ? undefined : await readBegun({ collection, userId, beginning, most, allowed })
    const weighed = phrases.map((phrase, place) => {
      const lists = phrase.map((word) => found.get(word) ?? new Float64Array())
      const isLast = place === phrases.length - 1
      const isCut = lists.some((list) => list.length === most) || (isLast && begun?.length === most)
      const numbers = isLast && begun ? inAny(inAll(lists), begun) : inAll(lists)
      return { numbers, weight: weigh(numbers, scope, isCut) }
    })
    const every = isEveryWord ? inAll(weighed.map(({ numbers }) => numbers)) : undefined
    const ranked = every ? weighed.map(({ weight }) => ({ numbers: every, weight })) : weighed
    return rankByNumbers(ranked, Math.max(limit * 2, fewestCandidates))
  }

  /** The texts with a word that begins so, newest first. The index is read in the order of words, up to `most` entries. */
  async function readBegun(query: {
    collection: string
    userId: string
    beginning: string
    most: number
    allowed: readonly number[] | undefined
  }): Promise<Float64Array> {
    const { collection, userId, beginning, most, allowed } = query
    const isWanted = allowed ? sql`and number = any(${allowed}::bigint[])` : sql``
    const found = await sql<{ numbers: string | null }>`
      select string_agg(held.number::text, ',' order by held.number desc) as numbers from (
        select distinct number from (
          select number from text_index
          where scope = ${scopeOf(collection, userId)}::bigint and word >= ${beginning} and word < ${`${beginning}\uffff`}
          ${isWanted} limit ${most}
        ) as begun
      ) as held`.execute(read)
    return parseNumbers(found.rows[0]?.numbers ?? '', Float64Array)
  }

  async function readAllowed(collection: string, userId: string, ids: readonly string[]): Promise<number[]> {
    const found = await sql<{ number: number }>`
      select number from text_entries
      where collection = ${collection} and id = any(${ids}::text[]) and user_id = ${userId}`.execute(read)
    return found.rows.map(({ number }) => number)
  }

  async function readEntries({ collection, userId }: Query, numbers: readonly number[]) {
    const found = await sql<{ number: number; id: string; length: number }>`
      select number, id, length from text_entries
      where number = any(${numbers}::bigint[]) and user_id = ${userId} and collection = ${collection}`.execute(read)
    return new Map(found.rows.map((row) => [row.number, row]))
  }

  return {
    index: (writer, entry) => indexText(writer, { ...entry, text: redact(entry.text) }),
    remove: removeText,
    removeUser: removeTextsOf,

    async search(query) {
      const phrases = toQueryWords(query.words)
        .map(toSoughtWords)
        .filter((phrase) => phrase.length > 0)
      if (phrases.length === 0 || query.limit < 1) return []
      const scope = await readScope(read, query)
      if (!scope) return []
      const typed = query.isTyping ? wordBeingTyped(query.words) : undefined
      const beginning = typed === undefined ? undefined : toSoughtBeginning(typed)
      const candidates = await rank(query, phrases, scope, beginning)
      const entries = await readEntries(
        query,
        candidates.map(({ number }) => number),
      )
      return candidates
        .flatMap(({ number, weight }) => {
          const entry = entries.get(number)
          return entry ? [{ id: entry.id, score: weight * lengthFactor(entry.length), number }] : []
        })
        .sort((a, b) => b.score - a.score || b.number - a.number)
        .slice(0, query.limit)
        .map(({ id, score }) => ({ id, score }))
    },

    async withAll({ collection, userId, words, limit }) {
      // The longest word is likely to be the rarest.
      const sought = words
        .flatMap(toQueryWords)
        .flatMap(toSoughtWords)
        .sort((a, b) => b.length - a.length)
      const [rarest, ...others] = new Set(sought)
      if (rarest === undefined || limit < 1) return []
      const scope = sql`${scopeOf(collection, userId)}::bigint`
      const alsoHolds = others.map(
        (word) => sql`and exists (
          select from text_index where scope = ${scope} and word = ${word} and number = held.number)`,
      )
      const found = await sql<{ id: string }>`
        select text_entries.id as id
        from text_index as held join text_entries on text_entries.number = held.number
        where held.scope = ${scope} and held.word = ${rarest} ${sql.join(alsoHolds, sql` `)}
          and text_entries.user_id = ${userId} and text_entries.collection = ${collection}
        limit ${limit}`.execute(read)
      return found.rows.map((row) => row.id)
    },

    // Vacuum removes deleted rows, together with those of all other tables.
    async scrub() {},
  }
}

/**
 * Frees the space of deleted rows, so that no query or dump can find them. Reads and writes continue meanwhile.
 *
 * This is weaker than on SQLite: the bytes remain in the server's files until the space is reused, and the write-ahead
 * log, its archive, replicas and backups keep their copies. The server's administrator decides how long.
 */
async function vacuumTables(pool: ConnectionPool, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted()
  await pool.use(async (client) => {
    const { rows } = await client.query<{ name: string }>(`
      select quote_ident(relname) as name from pg_class
      where relnamespace = current_schema()::regnamespace and relkind = 'r'
        and pg_get_userbyid(relowner) = current_user and pg_stat_get_dead_tuples(oid) > 0`)
    for (const { name } of rows) {
      signal?.throwIfAborted()
      await client.query(`vacuum ${name}`)
    }
  })
}
