import { randomBytes } from 'node:crypto'
import { constants, existsSync, type Stats } from 'node:fs'
import { access, lstat, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { sql } from 'kysely'
import { z } from 'zod'
import { systemClock } from '../../base/clock.ts'
import { formatBytes, formatTime, plural, reasonOf } from '../../base/text.ts'
import { createTelegramApi } from '../../channels/telegram/api.ts'
import { telegramHosts } from '../../channels/telegram/services.ts'
import { createS3Blobs } from '../../fleet/s3.ts'
import { createGuardedFetch } from '../../security/network/guarded-fetch.ts'
import { createVaultKey, readKeyFile } from '../../security/vault.ts'
import { type BlobStore, createDirectoryBlobs } from '../../storage/blobs.ts'
import type { Database } from '../../storage/database.ts'
import { allMigrations } from '../../storage/migrations/all-migrations.ts'
import type { PostgresDatabase } from '../../storage/postgres/open-postgres.ts'
import { inspectBrowser } from '../../tools/builtin/browsers.ts'
import { readNeedLogin } from '../../tools/mcp/tool-listing.ts'
import { type Config, formatProblems } from '../config/config.ts'
import type { StoredKeys } from '../config/environment.ts'
import { type LoadedConfig, loadConfig, type SharedSettings } from '../config/load-config.ts'
import { homePaths, keyFileOf } from '../home-paths.ts'
import { openS3 } from '../open-fleet.ts'
import { checkDatabase, type DatabaseCheck } from './check-database.ts'
import { checkProviders, checkTokenizer, checkTools, type Finding, fail, ok, shellQuoted, warn } from './checks.ts'

type SoundConfig = Extract<LoadedConfig, { ok: true }>

/** Parts that a daemon has open, and the command line opens for this check only. */
export interface PartChecks {
  routes(loaded: SoundConfig): Promise<Finding[]>
  voice(loaded: SoundConfig): Promise<Finding[]>
  sandbox(loaded: SoundConfig): Promise<Finding[]>
}

/** Checks everything, changes nothing, and needs neither a daemon nor a valid configuration. */
export async function examine(options: {
  homePath: string
  env: Readonly<Record<string, string | undefined>>
  /** Keys from the vault. */
  stored?: StoredKeys
  /** Whether a daemon runs in this home, and its state. */
  daemon(): Promise<{ finding: Finding; isRunning: boolean }>
  parts: PartChecks
  /** Also checks the keys with the configured servers. */
  network: boolean
}): Promise<Finding[]> {
  const { homePath, env, parts, network } = options
  const { loaded, findings: config } = checkConfig(homePath, env, options.stored)
  const [home, disk, { finding: daemon, isRunning }] = await Promise.all([
    examineLook('home', checkHome(homePath)),
    examineLook('disk', checkDisk(homePath)),
    options.daemon(),
  ])
  const url = loaded.ok ? loaded.config.database.url : null
  const paths = homePaths(homePath)
  const keyFile = loaded.ok ? keyFileOf(loaded.config, paths) : paths.key
  const database =
    url === null
      ? await checkDatabase(homePath, { isInUse: isRunning })
      : await checkServer(url, { keyFile, homeKey: paths.key })
  return [
    checkNode(process.versions.node),
    ...home,
    ...disk,
    checkClock(Date.now(), database.newestEvent),
    ...config,
    ...database.findings,
    daemon,
    ...(loaded.ok ? await examineLook('shared place', checkShared(loaded.config, network)) : []),
    ...(loaded.ok && url === null ? await examineLook('tools', checkTools(homePath, loaded.config)) : []),
    ...(loaded.ok ? await examineLook('routes', parts.routes(loaded)) : []),
    ...(loaded.ok ? await examineLook('providers', checkProviders(loaded.config, { network })) : []),
    ...(loaded.ok ? await examineLook('telegram', checkTelegram(loaded, network)) : []),
    ...(loaded.ok ? await examineLook('voice', parts.voice(loaded)) : []),
    ...(loaded.ok ? await examineLook('browser', checkBrowser(loaded.config, loaded.environment.PATH ?? '')) : []),
    ...(database.needLogin ?? [])
      // Servers that are no longer configured need no login.
      .filter((name) => loaded.ok && name in loaded.config.mcp.servers)
      .map((name) => warn('mcp', `The MCP server ${name} needs login.`, `familiar mcp login ${name}`)),
    ...(loaded.ok ? await examineLook('sandbox', parts.sandbox(loaded)) : []),
    checkTokenizer(),
  ]
}

/** A check that fails is a finding too. */
async function examineLook(check: string, looking: Promise<Finding | Finding[]>): Promise<Finding[]> {
  return looking.then(
    (found) => [found].flat(),
    (error: unknown) => [fail(check, `The check failed: ${reasonOf(error)}`)],
  )
}

/** The user's own Chromium, for the browser tool. */
async function checkBrowser({ tools }: Config, searchPath: string): Promise<Finding> {
  const { executable, problem } = await inspectBrowser({ ...tools.browser, searchPath }, process.getuid?.() === 0)
  if (problem === null) return ok('browser', executable ?? 'none')
  return warn('browser', problem, executable === null ? 'sudo apt-get install chromium' : undefined)
}

function checkConfig(
  homePath: string,
  env: Readonly<Record<string, string | undefined>>,
  stored: StoredKeys = {},
): { findings: Finding[]; loaded: LoadedConfig } {
  let loaded: LoadedConfig
  try {
    loaded = loadConfig({ home: homePath, env, stored })
  } catch (error) {
    // A home that is not a directory; its own check reports why.
    return { findings: [fail('config', `Cannot be read: ${reasonOf(error)}`)], loaded: { ok: false, problems: [] } }
  }
  if (!loaded.ok) {
    const lines = formatProblems(loaded.problems, homePath)
    const findings = loaded.problems.map(({ file, line }, index) =>
      fail(
        'config',
        lines[index] ?? '',
        existsSync(file) ? `\${EDITOR:-vi} +${line ?? 1} ${shellQuoted(file)}` : undefined,
      ),
    )
    return { findings, loaded }
  }
  const { config } = homePaths(homePath)
  const source = existsSync(config) ? config : 'the defaults (there is no familiar.toml)'
  return {
    findings: [ok('config', `OK: ${source}`), ...loaded.warnings.map((text) => warn('config', text))],
    loaded,
  }
}

/** Read-only: a start repairs some of this by itself. */
async function checkHome(homePath: string): Promise<Finding[]> {
  const found = await statOf(homePath)
  if (!found) return [await checkAncestor(homePath)]
  const home = await checkDirectory(homePath, found)
  return home.state === 'fail' ? [home] : [home, ...(await checkFiles(homePath))]
}

async function checkDirectory(path: string, found: Stats): Promise<Finding> {
  const user = process.geteuid?.()
  if (found.isSymbolicLink())
    return fail(
      'home',
      `${path} is a symlink, which could be pointed elsewhere.`,
      'familiar doctor --home "$(realpath ~/.familiar)"',
    )
  if (!found.isDirectory()) return fail('home', `${path} is not a directory.`, 'familiar doctor --home ~/.familiar')
  if (user !== undefined && found.uid !== user) {
    return fail('home', `${path} belongs to another user.`, `sudo chown -R "$(id -un)" ${shellQuoted(path)}`)
  }
  if (!(await isWritable(path))) return fail('home', `${path} is not writable.`, `chmod 700 ${shellQuoted(path)}`)
  if (found.mode & 0o022) return fail('home', `Other users can change ${path}.`, `chmod 700 ${shellQuoted(path)}`)
  if (found.mode & 0o077) return warn('home', `Other users can list ${path}.`, `chmod 700 ${shellQuoted(path)}`)
  return ok('home', path)
}

async function checkFiles(homePath: string): Promise<Finding[]> {
  const { config, environment, database, key } = homePaths(homePath)
  const findings: Finding[] = []
  for (const path of [config, environment, database, key]) {
    const found = await statOf(path)
    if (found && found.mode & 0o077) {
      findings.push(warn('home', `Other users can read ${path}.`, `chmod 600 ${shellQuoted(path)}`))
    }
  }
  return findings
}

async function checkAncestor(homePath: string): Promise<Finding> {
  let place = dirname(homePath)
  let found = await statOf(place)
  while (!found && dirname(place) !== place) {
    place = dirname(place)
    found = await statOf(place)
  }
  if (found?.isDirectory() && (await isWritable(place))) {
    return ok('home', `${homePath} does not exist yet; the first start creates it.`)
  }
  const reason = found?.isDirectory() ? 'is not writable' : 'is not a directory'
  return fail('home', `${homePath} cannot be created: ${place} ${reason}.`, 'familiar doctor --home ~/.familiar')
}

async function isWritable(path: string): Promise<boolean> {
  return access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  )
}

function statOf(path: string): Promise<Stats | undefined> {
  return lstat(path).catch(() => undefined)
}

const check = 'key for secrets'

interface KeyPlaces {
  /** The key that this daemon uses. */
  keyFile: string
  /** The key of the home, which no other daemon sees. */
  homeKey: string
}

/** Whether the daemons that share a database can read each other's secrets. */
export async function checkKeyFile(
  database: Pick<Database, 'read'>,
  { keyFile, homeKey }: KeyPlaces,
): Promise<Finding> {
  let key: Buffer | undefined
  try {
    key = await readKeyFile(keyFile)
  } catch (error) {
    return fail(check, reasonOf(error))
  }
  const keyId = key && createVaultKey(key).id
  const secrets = await database.read.selectFrom('secrets').select('key_id').execute()
  const others = secrets.filter(({ key_id }) => key_id !== keyId).length
  if (others > 0) {
    const what = plural(others, 'secret is', 'secrets are')
    const isAtHome = !key && keyFile !== homeKey && existsSync(homeKey)
    const repair = isAtHome ? `cp -p ${shellQuoted(homeKey)} ${shellQuoted(keyFile)}` : undefined
    return fail(check, `${what} encrypted with a key other than ${keyFile}, and cannot be read here.`, repair)
  }
  if (keyFile !== homeKey) return ok(check, `${keyFile}, shared by every daemon that has it`)
  return warn(
    check,
    `${keyFile} belongs to this home only: daemons of other homes cannot read secrets or answer approvals that were encrypted here. Set [shared] directory to use one key for all of them.`,
    'FAMILIAR_KEY_FILE=/a/shared/path in the environment of each daemon',
  )
}

const neededNode = [24, 15] as const
const firstRelease = Date.UTC(2025, 0, 1)

function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isNewEnough = major > neededNode[0] || (major === neededNode[0] && minor >= neededNode[1])
  if (isNewEnough) return ok('node', `Node ${version}`)
  return fail('node', `Node ${version} is too old; ${neededNode.join('.')} is needed.`, 'npm start')
}

async function checkDisk(homePath: string): Promise<Finding> {
  const place = nearestExisting(homePath)
  const { bavail, bsize } = await statfs(place)
  const free = bavail * bsize
  const message = `${formatBytes(free)} free`
  const repair = `du -xh ${shellQuoted(place)} | sort -h | tail`
  if (free < 100e6) return fail('disk', `${message}: too little to continue safely.`, repair)
  if (free < 1e9) return warn('disk', `${message}: running low.`, repair)
  return ok('disk', message)
}

function checkClock(now: number, newestEvent: number | undefined): Finding {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone
  const repair = 'sudo timedatectl set-ntp true'
  if (now < firstRelease) return fail('clock', `It says ${formatTime(now)}, which is before Familiar existed.`, repair)
  if (newestEvent !== undefined && newestEvent > now + 60_000) {
    return warn('clock', `It says ${formatTime(now)}, but the newest entry is from ${formatTime(newestEvent)}.`, repair)
  }
  return ok('clock', `${formatTime(now)} (${zone})`)
}

function nearestExisting(path: string): string {
  return existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path))
}

/** Connects like another daemon; if the tables are older than this program, that migrates them. */
async function checkServer(url: string, key: KeyPlaces): Promise<DatabaseCheck> {
  const { openPostgres } = await import('../../storage/postgres/open-postgres.ts')
  try {
    const database = await openPostgres({ url, clock: systemClock(), poolSize: 4 })
    try {
      return await look(database, key)
    } finally {
      await database.close()
    }
  } catch (error) {
    return { findings: [fail('database', reasonOf(error))] }
  }
}

async function look(database: PostgresDatabase, key: KeyPlaces): Promise<DatabaseCheck> {
  const [problem] = await database.checkIntegrity()
  if (problem !== undefined) return { findings: [fail('database', problem)] }
  const { rows } = await sql<{ version: string; bytes: number; newest: number | null; daemons: number }>`
    select current_setting('server_version') as version, pg_database_size(current_database()) as bytes,
      (select max(at) from session_events) as newest, (select count(*) from daemons) as daemons`.execute(database.read)
  const [row] = rows
  const what = `PostgreSQL ${row?.version}, ${formatBytes(row?.bytes ?? 0)}, version ${allMigrations.at(-1)?.name}`
  const findings = [
    ok('database', `${what}; ${plural(row?.daemons ?? 0, 'daemon shares it', 'daemons share it')}`),
    describeSearch(await database.vectorSearch.describe()),
    await checkKeyFile(database, key),
  ]
  const states = await database.read.selectFrom('tool_states').select(['name', 'state']).execute()
  return { findings, needLogin: readNeedLogin(states), newestEvent: row?.newest ?? undefined }
}

function describeSearch(how: string): Finding {
  if (how.startsWith('pgvector')) return ok('search by meaning', how)
  return warn(
    'search by meaning',
    `${how}: every daemon that searches keeps the vectors in memory. With the pgvector extension the server searches them.`,
    'CREATE EXTENSION vector, as the owner of the database',
  )
}

const sharedCheck = 'shared place'
/** A signature is rejected after fifteen. */
const maxSkewMs = 2 * 60_000

/**
 * Whether the shared place is reachable, writable and readable, and its clock agrees with this one. A small file is
 * written and deleted for that; a bucket is checked only with `network`.
 */
export async function checkShared({ shared }: Pick<Config, 'shared'>, network: boolean): Promise<Finding[]> {
  if (!shared) return []
  if (shared.kind === 'directory') return await sharedCheckDirectory(shared)
  const { bucket, endpoint } = shared.s3
  const name = `bucket ${bucket} at ${endpoint}`
  return network ? await checkBucket(shared, name) : [ok(sharedCheck, `${name}; not checked`)]
}

async function sharedCheckDirectory({ directory }: Extract<SharedSettings, { kind: 'directory' }>): Promise<Finding[]> {
  const store = createDirectoryBlobs({ directory })
  try {
    const { mtimeMs } = await tryOut(store, (probe) => stat(join(directory, probe)))
    return [ok(sharedCheck, `${directory} can be read and written`), ...checkSkew(mtimeMs - Date.now(), directory)]
  } catch (error) {
    return [fail(sharedCheck, `${directory}: ${reasonOf(error)}`, `ls -ld ${shellQuoted(directory)}`)]
  }
}

async function checkBucket({ s3 }: Extract<SharedSettings, { kind: 's3' }>, name: string): Promise<Finding[]> {
  const { ask, close } = openS3({ s3, clock: systemClock(), random: Math.random, timeoutMs: 10_000 })
  try {
    const store = createS3Blobs({ ask, prefix: () => s3.prefix })
    const { date } = await tryOut(store, (key) => ask({ method: 'HEAD', key }))
    const skew = date === undefined ? [] : checkSkew(date - Date.now(), name)
    return [ok(sharedCheck, `${name} can be read and written`), ...skew]
  } catch (error) {
    return [fail(sharedCheck, reasonOf(error), `curl -sS -o /dev/null ${s3.endpoint}`)]
  } finally {
    await close()
  }
}

/** Reads back what was written, and leaves nothing behind. */
async function tryOut<T>(store: BlobStore, look: (probe: string) => Promise<T>): Promise<T> {
  const probe = `doctor-${randomBytes(8).toString('hex')}`
  const bytes = randomBytes(64)
  await store.put(probe, bytes)
  try {
    const read = await store.get(probe)
    if (!read || Buffer.compare(read, bytes) !== 0) throw new Error('the data read back differs from what was written')
    return await look(probe)
  } finally {
    await store.delete(probe)
  }
}

function checkSkew(skewMs: number, place: string): Finding[] {
  if (Math.abs(skewMs) <= maxSkewMs) return []
  const minutes = plural(Math.round(Math.abs(skewMs) / 60_000), 'minute')
  const which = skewMs > 0 ? 'ahead of' : 'behind'
  return [warn(sharedCheck, `The clock of ${place} is ${minutes} ${which} this one.`, 'sudo timedatectl set-ntp true')]
}

const botSchema = z.object({ username: z.string().default('') })

/** Whether Telegram is set up; with `network` also whether it accepts the token. No messages are fetched. */
async function checkTelegram({ config }: Pick<SoundConfig, 'config'>, network: boolean): Promise<Finding> {
  const check = 'telegram'
  const { telegram } = config
  if (!telegram) return ok(check, 'not set up')
  const people = telegram.allowedIds.length
  const named = people === 0 ? 'no ids in the config: users pair with a code' : `the config names ${people}`
  if (!network) return ok(check, `set up; ${named}`)
  const { apiRoot, token } = telegram
  const allowedHosts = telegramHosts(apiRoot)
  const fetch = createGuardedFetch({ allowedHosts, timeoutMs: 10_000 })
  const api = createTelegramApi({ token, apiRoot, fetch, clock: systemClock() })
  try {
    const signal = AbortSignal.timeout(10_000)
    const answer = await api.call('getMe', {}, { result: botSchema, signal })
    if (answer.kind === 'ok') return ok(check, `@${answer.result.username} answers; ${named}`)
    if (answer.kind !== 'refused') return warn(check, `${apiRoot} cannot be reached: ${answer.reason}`)
    if (answer.code !== 401 && answer.code !== 404) return warn(check, `${apiRoot} answers with ${answer.code}.`)
    return fail(check, 'Telegram rejects the bot token; @BotFather shows the right one.')
  } finally {
    await api.close()
  }
}
