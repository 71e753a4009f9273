import { type RawBuilder, sql } from 'kysely'
import type { Clock } from '../base/clock.ts'
import type { Ids } from '../base/ids.ts'
import { camelKeys } from '../base/json.ts'
import { FamiliarError } from '../protocol/errors.ts'
import type { PolicyMode } from '../protocol/permissions.ts'
import type { Database, Writer } from '../storage/database.ts'
import type { Tables, UserRow } from '../storage/tables.ts'
import type { AccessTokens, MadeToken, TokenScope } from './tokens.ts'

/** `tier` is the plan as recorded, whether or not the config defines it. */
export type User = ReturnType<typeof camelKeys<UserRow>>

export type Users = ReturnType<typeof createUsers>

const plainName = /^[\p{L}\p{N}][\p{L}\p{M}\p{N}_-]{0,31}$/u
const usualScope: TokenScope = 'chat'

/**
 * The users of this home beside its owner (USERS-1). Errors are thrown as a FamiliarError. The records are cached:
 * every change goes through here and takes effect with the next call.
 */
export function createUsers(dependencies: {
  database: Database
  tokens: Pick<AccessTokens, 'createToken' | 'revoke' | 'list'>
  clock: Clock
  ids: Ids
  /** The plans in the current config, including built-in ones. */
  plans: () => Readonly<Record<string, Plan>>
  /** Registers every created token with the redactor. */
  addSecret(secret: string): void
}) {
  const { database, tokens, clock, ids, plans } = dependencies
  const users = new Map<string, User>()

  function find(name: string): User | undefined {
    const wanted = foldName(name)
    return [...users.values()].find((user) => foldName(user.name) === wanted)
  }

  /** Throws `not_found` if there is no such name; case does not matter. */
  function named(name: string): User {
    const user = find(name)
    if (!user) throw new FamiliarError('not_found', `There is no user named ${JSON.stringify(name)}`)
    return user
  }

  async function makeToken(userId: string, scope: TokenScope): Promise<MadeToken> {
    const made = await tokens.createToken(userId, scope)
    dependencies.addSecret(made.token)
    return made
  }

  /** Only the owner has the plan "owner". */
  function requirePlan(name: string): void {
    if (name === ownerPlanName) throw new FamiliarError('bad_request', 'The plan "owner" is reserved for the owner')
    if (Object.hasOwn(plans(), name)) return
    const known = Object.keys(plans()).filter((plan) => plan !== ownerPlanName)
    throw new FamiliarError('bad_request', `There is no plan ${JSON.stringify(name)}. Plans: ${known.join(', ')}`)
  }

  return {
    /** Reads the records: before the first use, and again after another daemon wrote some. */
    async refresh(): Promise<void> {
      const rows = await database.read.selectFrom('users').selectAll().orderBy('created_at').orderBy('id').execute()
      users.clear()
      for (const row of rows) users.set(row.id, camelKeys(row))
    },
    /** The owner first, then by age. */
    list: (): readonly User[] =>
      [...users.values()].sort((a, b) => Number(b.role === 'owner') - Number(a.role === 'owner')),
    named,
    isOwner: (userId: string) => users.get(userId)?.role === 'owner',
    /** Effective immediately, also after a change of the record or the config. Unknown users may do nothing. */
    planOf(userId: string): Plan {
      const name = users.get(userId)?.tier
      if (name === undefined) return closedPlan('unknown')
      const known = plans()
      return (Object.hasOwn(known, name) ? known[name] : undefined) ?? closedPlan(name)
    },
    /** Whether the config defines the plan. */
    hasPlan: (name: string) => Object.hasOwn(plans(), name),
    async add(request: { name: string; tier?: string | undefined; scope?: TokenScope | undefined }) {
      const { name: given, tier: plan = guestPlanName, scope = usualScope } = request
      const name = given.normalize('NFC')
      if (!plainName.test(name)) {
        throw new FamiliarError(
          'bad_request',
          'A name must have 1 to 32 letters, digits, "-" and "_", and start with a letter or digit',
        )
      }
      requirePlan(plan)
      if (find(name)) throw nameTaken(name)
      const row: UserRow = { id: ids.next(), name, role: 'user', tier: plan, created_at: clock.now() }
      const user: User = camelKeys(row)
      // Added before it is written, so that a concurrent user of the same name is rejected.
      users.set(user.id, user)
      await database
        .write((writer) => insertUser(writer, row))
        .catch((cause) => {
          users.delete(user.id)
          throw cause
        })
      return { user, made: await makeToken(user.id, scope) }
    },
    async setPlan(name: string, plan: string): Promise<User> {
      const user = named(name)
      if (user.role === 'owner') throw new FamiliarError('bad_request', 'The owner’s plan cannot be changed')
      requirePlan(plan)
      await database.write((writer) =>
        writer
          .updateTable('users')
          .set({ tier: plan })
          .where('id', '=', user.id)
          .where('role', '!=', 'owner')
          .execute(),
      )
      const changed = { ...user, tier: plan }
      users.set(user.id, changed)
      return changed
    },
    /** Replaces all tokens of the user with a new one that has the scope of the newest. */
    async rotate(name: string): Promise<MadeToken> {
      const user = named(name)
      if (user.role === 'owner') {
        throw new FamiliarError('bad_request', 'Replace the owner’s token with: familiar tokens rotate')
      }
      const old = await tokens.list(user.id)
      const made = await makeToken(user.id, old.at(-1)?.scope ?? usualScope)
      for (const { tokenId } of old) await tokens.revoke(tokenId)
      return made
    },
    /** Rejects every token of the user from now on: the first step of a removal. */
    async shutOut(userId: string): Promise<void> {
      for (const { tokenId } of await tokens.list(userId)) await tokens.revoke(tokenId)
    },
    /** The record was deleted; removes it from the cache. */
    forget: (userId: string) => void users.delete(userId),
  }
}

/** Another daemon may have taken the name since the users were read here. */
async function insertUser(writer: Writer, row: UserRow): Promise<void> {
  const known = await writer.selectFrom('users').select('name').execute()
  if (known.some(({ name }) => foldName(name) === foldName(row.name))) throw nameTaken(row.name)
  await writer.insertInto('users').values(row).execute()
}

function nameTaken(name: string): FamiliarError {
  return new FamiliarError('conflict', `A user named ${name} already exists`)
}

function foldName(name: string): string {
  return name.normalize('NFKC').toLowerCase()
}

/**
 * A plan: what its users may use and spend (CLIENT-4). It comes from the user's record and the config of this home,
 * never from a request.
 */
export interface Plan {
  name: string
  /** Patterns of names with `*` as a wildcard. Denied tools stay denied whatever is allowed. */
  tools: { allow: readonly string[]; deny: readonly string[] }
  /** Model ids by purpose; empty uses the default routes. */
  routes: Readonly<Partial<Record<string, readonly string[]>>>
  /** In dollars. Absent: the default; null: no limit. */
  budget: PlanBudget
  /** Maximum number of conversations; null: no limit. */
  maxSessions: number | null
  /** The mode that asks least of those that its users may choose; null: any, and the usual one by default. */
  mode: PolicyMode | null
}

interface PlanBudget {
  perMessageUsd?: number | null
  perBuildUsd?: number | null
  perDayUsd?: number | null
  perMonthUsd?: number | null
}

export const ownerPlanName = 'owner'
/** The plan of users that are added without one. The config may redefine it. */
const guestPlanName = 'guest'

const everything: Omit<Plan, 'name'> = {
  tools: { allow: ['*'], deny: [] },
  routes: {},
  budget: {},
  maxSessions: null,
  mode: null,
}

const talk: Omit<Plan, 'name'> = { ...everything, tools: { allow: [], deny: [] } }

/** The plans that always exist; `owner` cannot be changed. */
export function withBuiltInPlans(configured: Readonly<Record<string, Plan>>): Readonly<Record<string, Plan>> {
  return {
    [guestPlanName]: { name: guestPlanName, ...talk },
    ...configured,
    [ownerPlanName]: { name: ownerPlanName, ...everything },
  }
}

/** For a plan that the config no longer defines, and for unknown users: nothing is allowed and nothing may be spent. */
export function closedPlan(name: string): Plan {
  return {
    name,
    tools: { allow: [], deny: ['*'] },
    routes: { primary: ['offline/offline'] },
    budget: { perMessageUsd: 0, perBuildUsd: 0, perDayUsd: 0, perMonthUsd: 0 },
    maxSessions: 0,
    mode: 'strict',
  }
}

/** These reach the owner's files and programs, which user ids do not separate: a pattern does not include them. */
const ownersMachine = new Set(['exec', 'file_read', 'file_write', 'file_edit'])

export function allowsTool({ name, tools: { allow, deny } }: Plan, toolName: string): boolean {
  if (name !== ownerPlanName && ownersMachine.has(toolName) && !allow.includes(toolName)) return false
  const fits = (pattern: string) => fitsPattern(pattern, toolName)
  return allow.some(fits) && !deny.some(fits)
}

/**
 * The models for a purpose, in the order in which they are tried; undefined uses the default routes. A purpose that the
 * plan does not name gets the plan's primary models, so that it never uses a more expensive one.
 */
export function routeOf({ routes }: Plan, purpose: string): readonly string[] | undefined {
  return routes[purpose] ?? routes.primary ?? Object.values(routes)[0]
}

/** Whether a user of the plan may choose the model. */
export function allowsModel({ routes }: Plan, modelId: string): boolean {
  const lists = Object.values(routes)
  return lists.length === 0 || lists.some((ids) => ids?.includes(modelId))
}

/** Without a regular expression: patterns come from a file and must not take long. */
function fitsPattern(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return name === first
  if (!name.startsWith(first) || name.length < first.length + last.length || !name.endsWith(last)) return false
  const end = name.length - last.length
  let from = first.length
  for (const part of rest) {
    const at = name.indexOf(part, from)
    if (at === -1 || at + part.length > end) return false
    from = at + part.length
  }
  return true
}

/** The effect of removing a user on the rows of a table. */
export type TableRule<Column extends string = string> =
  /** Each row names its user. */
  | { rows: 'own'; exportedBy: Exported<Column> }
  /** Each row is part of one that names its user: `column` holds the `key` of a row of `of`. */
  | { rows: 'parts'; column: Column; of: keyof Tables; key: string; exportedBy: Exported<Column> }
  /** Belongs to the home, not to a user: stays. */
  | { rows: 'shared' }

/** The primary key, as the order of export; null if rows are not exported. */
type Exported<Column extends string> = readonly Column[] | null

/** Derived from exported data, useful only to Familiar, or secret. */
const unexported = { rows: 'own', exportedBy: null } as const
const shared = { rows: 'shared' } as const
const notExported = null

function own<Column extends string>(...exportedBy: Column[]) {
  return { rows: 'own', exportedBy } as const
}

function partsOf<Column extends string>(of: keyof Tables, column: Column, exportedBy: Exported<Column>) {
  return { rows: 'parts', column, of, key: 'id', exportedBy } as const
}

/**
 * Every table, in deletion order: a table comes before those it refers to. Omitting a table is a compile error, and a
 * table known only to the database fails a test.
 */
export const userTables = {
  build_events: partsOf('builds', 'build_id', ['build_id', 'seq']),
  build_questions: partsOf('builds', 'build_id', ['id']),
  build_files: partsOf('builds', 'build_id', ['build_id', 'path']),
  builds: own('id'),
  capability_storage: partsOf('capabilities', 'capability_id', ['capability_id', 'key']),
  capability_vectors: partsOf('capabilities', 'capability_id', notExported),
  capability_versions: partsOf('capabilities', 'capability_id', ['capability_id', 'version']),
  capabilities: own('id'),
  schedule_runs: partsOf('schedules', 'schedule_id', ['schedule_id', 'due_at']),
  schedules: own('id'),
  spawns: own('id'),
  client_calls: own('session_id', 'call_id'),
  pins: own('user_id', 'agent', 'label'),
  asset_versions: own('user_id', 'uri', 'version'),
  untrusted_files: own('user_id', 'hash'),
  blocks: own('user_id', 'label'),
  outbox: own('id'),
  delivery_cursors: partsOf('sessions', 'session_id', notExported),
  channel_contacts: own('channel', 'address'),
  pairing_codes: unexported,
  one_time_links: unexported,
  browsers: unexported,
  session_views: partsOf('sessions', 'session_id', notExported),
  session_folders: own('id'),
  session_holders: partsOf('sessions', 'session_id', notExported),
  // The memories themselves are exported in a format that can be imported again.
  memory_vectors: unexported,
  memory_tags: unexported,
  memory_edges: unexported,
  chunks: unexported,
  facts: unexported,
  episodes: unexported,
  commitments: unexported,
  memory_changes: unexported,
  memory_marks: unexported,
  memory_speakers: own('user_id', 'name'),
  entity_aliases: unexported,
  fact_attributes: unexported,
  memory_files: own('id'),
  memories: unexported,
  tool_weights: own('user_id', 'topic', 'tool'),
  tool_settings: own('user_id', 'tool', 'key'),
  tool_calls: own('id'),
  client_telemetry: own('user_id'),
  approvals: own('id'),
  grants: own('id'),
  secrets: unexported,
  cost_ledger: own('id'),
  cost_totals: own('user_id', 'period'),
  inbox: own('id'),
  session_snapshots: partsOf('sessions', 'session_id', notExported),
  // Exported day by day, as `familiar export` does.
  session_events: partsOf('sessions', 'session_id', notExported),
  sessions: own('id'),
  access_tokens: unexported,
  // A file may be in the conversations of several users: unused files are found by their hash.
  media: shared,
  tool_states: shared,
  tool_vectors: shared,
  trigger_runs: shared,
  channel_marks: shared,
  daemons: shared,
  webhook_nonces: shared,
  users: partsOf('users', 'id', ['id']),
} satisfies { [Table in keyof Tables]: TableRule<keyof Tables[Table] & string> }

const rules: readonly [table: string, rule: TableRule][] = Object.entries(userTables)
const rowsPerPage = 500

/** A user's rows for export, table by table, in pages. Secrets are not included. */
export async function* readUserRows(
  { read }: Pick<Database, 'read'>,
  userId: string,
): AsyncGenerator<{ table: string; rows: Record<string, unknown>[] }> {
  for (const [table, rule] of rules) {
    if (rule.rows === 'shared' || rule.exportedBy === null) continue
    for (let from = 0; ; from += rowsPerPage) {
      const order = sql.join(rule.exportedBy.map((column) => sql.ref(column)))
      const page = sql<Record<string, unknown>>`
        select * from ${sql.table(table)} where ${ofUser(rule, userId)}
        order by ${order} limit ${rowsPerPage} offset ${from}`
      const { rows } = await page.execute(read)
      if (rows.length > 0) yield { table, rows }
      if (rows.length < rowsPerPage) break
    }
  }
}

/**
 * Deletes every row of a user from every table and the text index in one unit, all or nothing. Afterwards nothing of
 * theirs can be written, because every row must name an existing user.
 */
export async function deleteUserRows(
  database: Pick<Database, 'textSearch'>,
  writer: Writer,
  userId: string,
): Promise<void> {
  await database.textSearch.removeUser(writer, userId)
  for (const [table, rule] of rules) {
    if (rule.rows === 'shared' || table === 'users') continue
    await sql`delete from ${sql.table(table)} where ${ofUser(rule, userId)}`.execute(writer)
  }
  // The owner can only be removed with the home.
  await writer.deleteFrom('users').where('id', '=', userId).where('role', '!=', 'owner').execute()
}

function ofUser(rule: Exclude<TableRule, { rows: 'shared' }>, userId: string): RawBuilder<unknown> {
  if (rule.rows === 'own') return sql`user_id = ${userId}`
  if (rule.of === 'users') return sql`${sql.ref(rule.column)} = ${userId}`
  return sql`${sql.ref(rule.column)} in (select ${sql.ref(rule.key)} from ${sql.table(rule.of)} where user_id = ${userId})`
}
