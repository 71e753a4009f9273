import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, dirname, join, sep } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { systemClock } from '../../base/clock.ts'
import { writeFileAtomically } from '../../base/files.ts'
import { parseJson } from '../../base/json.ts'
import type { ChildOutcome } from '../../base/processes.ts'
import { acquireDaemonLock, processIdentity, readDaemonInfo, readLiveRecord } from '../../daemon/daemon-lock.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { home } from '../../protocol/status.ts'
import { allMigrations } from '../../storage/migrations/all-migrations.ts'
import { timeForFileName } from '../../storage/sqlite/connection.ts'
import { copyDatabase, restoreSqlite } from '../../storage/sqlite/copy-database.ts'
import { type CommandContext, CommandError } from '../command.ts'
import { createApiClient } from '../connect.ts'
import { definedVariables, type ProcessEnvironment, runProgram } from '../local-home.ts'
import { knownManager, type ServiceManager, serviceState, tellManager } from './service-manager.ts'

/** Another version of the program, ready to take the place of this one. */
export interface ProgramChange {
  from: string
  to: string
  /** The command of the new version in its temporary folder. */
  triedCommand: string
  /** The command of whichever version is in place. */
  command: string
  /** Puts the new version in place. If it is killed anywhere, one of the two still runs, or `undo` restores it. */
  apply(): Promise<void>
  /** Restores the old version, if it is not in place. */
  undo(): Promise<void>
  /** After `apply`: keeps the old version, so that `familiar update --rollback` can bring it back. Its commit in a clone. */
  keepOld(): Promise<string | null>
  /** Removes the rest of the other version, except for the kept files. */
  finish(): Promise<void>
}

/** `text` is the standard output, also of a program that failed. */
type ToolAnswer = { ok: true; text: string } | { ok: false; text: string; message: string }

/** Runs npm, git or a version of Familiar to its end. The message is its last output. */
export async function runUpdateTool(run: Parameters<typeof runProgram>[0]): Promise<ToolAnswer> {
  const { isFine, text, outcome } = await runProgram(run)
  return isFine ? { ok: true, text } : { ok: false, text, message: whyNot(outcome, text) }
}

function whyNot({ end, stderr }: ChildOutcome, stdout: string): string {
  switch (end.kind) {
    case 'not_started':
      return `it cannot be started (${end.reason})`
    case 'timed_out':
      return 'it did not end in time'
    case 'killed':
      return `it was ended by ${end.signal}`
    case 'output_too_large':
      return 'it said too much'
    case 'exited': {
      const lines = [Buffer.from(stderr).toString(), stdout].join('\n').split('\n')
      const first = lines.find((line) => /error/i.test(line)) ?? lines.find((line) => line.trim() !== '')
      return `exit code ${end.code}${first ? `: ${first.slice(0, 500)}` : ''}`
    }
  }
}

const handedOn =
  /^(PATH|HOME|USER|LOGNAME|LANG|LC_ALL|TMPDIR|TZ|SSH_AUTH_SOCK|NODE_EXTRA_CA_CERTS|XDG_\w+|npm_config_\w+|(https?|no|all)_proxy)$/i

/** The variables that npm and git need to reach their servers, without API keys. */
export function fetchEnvironment(env: ProcessEnvironment): Record<string, string> {
  return Object.fromEntries(Object.entries(definedVariables(env)).filter(([name]) => handedOn.test(name)))
}

type Health = { ok: true } | { ok: false; problem: string }

interface Checked {
  /** The program's `bin/familiar`. */
  command: string
  home: string
  env: ProcessEnvironment
  signal: AbortSignal
}

const maxFetchMs = 600_000

const doctorSchema = z.object({ findings: z.array(z.object({ check: z.string(), state: z.string() })) })
const statusSchema = z.object({ version: z.string() })
const sendSchema = z.object({ reply: z.string() })

/** Whether a version starts on a home, migrates its database and reports the expected version. */
export function answersStatus(program: Checked, version: string): Promise<Health> {
  return familiar(program, ['status'], (text) => {
    const status = parseJson(text, statusSchema)
    if (!status.ok) return 'its answer cannot be read'
    return status.value.version === version ? undefined : `it says that it is ${status.value.version}`
  })
}

/** Whether a version answers a message, with an empty home and no model. */
function answersMessage(program: Checked): Promise<Health> {
  return familiar(program, ['send', '--message', 'Remember that this is a try.'], (text) => {
    const sent = parseJson(text, sendSchema)
    return sent.ok && sent.value.reply !== '' ? undefined : 'it did not answer'
  })
}

/** Whether a version runs at all. The first command of a clone also fetches its dependencies, which takes time. */
function saysVersion(program: Checked, version: string): Promise<Health> {
  const check = (text: string) => (text.trim() === version ? undefined : `it says that it is ${text.trim()}`)
  return familiar(program, ['--version'], check, maxFetchMs)
}

/** The failures that its doctor finds. */
async function brokenChecks(
  program: Checked,
): Promise<{ ok: true; checks: string[] } | { ok: false; problem: string }> {
  const answer = await runFamiliar(program, ['doctor'])
  // It exits with 1 if a check fails and still prints the findings.
  const parsed = parseJson(answer.text, doctorSchema)
  if (!parsed.ok) return { ok: false, problem: `familiar doctor: ${answer.ok ? parsed.message : answer.message}` }
  const broken = parsed.value.findings.filter(({ state }) => state === 'fail')
  return { ok: true, checks: broken.map(({ check }) => check) }
}

/** Runs a command of a version; `check` returns the problem of its output. */
async function familiar(
  program: Checked,
  words: [string, ...string[]],
  check: (text: string) => string | undefined,
  wallMs?: number,
): Promise<Health> {
  const answer = await runFamiliar(program, words, wallMs)
  const problem = answer.ok ? check(answer.text) : answer.message
  return problem === undefined ? { ok: true } : { ok: false, problem: `familiar ${words[0]}: ${problem}` }
}

function runFamiliar({ command, home, env, signal }: Checked, words: string[], wallMs?: number): Promise<ToolAnswer> {
  return runUpdateTool({
    argv: [process.execPath, command, '--home', home, '--json', ...words],
    workingDirectory: '/',
    environment: Object.fromEntries(Object.entries(definedVariables(env)).filter(([, value]) => value !== '')),
    signal,
    ...(wallMs !== undefined && { wallMs }),
  })
}

/** The home, held so that no daemon can start on it, and the way to restart the daemon that ran. */
interface StoppedDaemon {
  /** Undefined if none ran; null if it was started by hand, and must be started again by hand. */
  service: ServiceManager | null | undefined
  /** Releases the home. */
  release(): Promise<void>
}

const patienceMs = 90_000
const pauseMs = 100

/** Stops the daemon of this home: it finishes its running work and accepts no new work. */
async function stopDaemon(context: CommandContext): Promise<StoppedDaemon> {
  const { homePath, signal } = context
  const running = readLiveRecord(homePath)
  const service = running && (await serviceOf(context, running.pid))
  if (service) {
    const halted = await tellManager(service.halt, context)
    if (!halted.ok) throw new CommandError(`The service was not stopped: ${halted.message}`)
  } else if (running) process.kill(running.pid, 'SIGTERM')
  const deadline = performance.now() + patienceMs
  for (;;) {
    const lock = await acquireDaemonLock(homePath)
    if (lock.ok) return { service: running ? (service ?? null) : undefined, release: lock.release }
    if (performance.now() >= deadline) {
      throw new CommandError(`Process ${lock.pid ?? 'unknown'} uses ${homePath} and does not stop.`, { code: 'locked' })
    }
    await wait(pauseMs, undefined, { signal })
  }
}

/** Starts the service again, and waits until its daemon answers. */
async function resumeService(context: CommandContext, service: ServiceManager, version: string): Promise<Health> {
  const resumed = await tellManager(service.resume, context)
  if (!resumed.ok) return { ok: false, problem: `the service was not started: ${resumed.message}` }
  const deadline = performance.now() + 60_000
  for (;;) {
    const info = readDaemonInfo(context.homePath)
    const client = info && createApiClient(info)
    const status = await client
      ?.api(home)
      .status()
      .catch(() => undefined)
    if (status?.version === version) return { ok: true }
    if (performance.now() >= deadline) return { ok: false, problem: 'the service does not answer' }
    await wait(pauseMs, undefined, { signal: context.signal })
  }
}

async function serviceOf(context: CommandContext, pid: number): Promise<ServiceManager | undefined> {
  const manager = knownManager(context)
  const state = manager && (await serviceState(manager, context))
  return state?.pid === pid ? manager : undefined
}

/**
 * Tries the new version on a copy of the home: its doctor finds no failure that the old one's did not, it migrates the
 * database, and it answers a message.
 *
 * The copy must not act: interrupted turns in it would resume, and messages in it would be sent a second time. So the
 * version starts on it without the configuration, which names every connection, and answers the message on an empty home.
 * `database` replaces that of the home.
 */
async function tryProgram(context: CommandContext, change: ProgramChange, database?: string | null): Promise<Health> {
  const { homePath, env, signal } = context
  const paths = homePaths(homePath)
  const folder = mkdtempSync(join(paths.run, 'update-'))
  const copy = homePaths(join(folder, 'copy'))
  const alone = {
    ...withoutKeys(env),
    FAMILIAR_MODEL: 'offline/offline',
    FAMILIAR_EMBEDDING: 'off',
    FAMILIAR_SANDBOX: 'off',
    // The trial uses its own database file, whatever the home uses.
    FAMILIAR_DATABASE_URL: '',
    FAMILIAR_KEY_FILE: '',
  }
  const onCopy = (command: string, environment = env) => ({ command, home: copy.root, env: environment, signal })
  const configuration = [paths.config, paths.providers, paths.environment]
  try {
    mkdirSync(copy.root, { mode: 0o700 })
    for (const path of [...configuration, paths.key]) {
      if (existsSync(path)) cpSync(path, join(copy.root, basename(path)), { recursive: true })
    }
    const source = database ?? paths.database
    if (existsSync(source)) await copyDatabase({ databasePath: source, targetPath: copy.database })
    const runs = await saysVersion(onCopy(change.triedCommand), change.to)
    if (!runs.ok) return runs
    const before = await brokenChecks(onCopy(change.command))
    const after = await brokenChecks(onCopy(change.triedCommand))
    if (!after.ok) return after
    const worse = after.checks.filter((check) => before.ok && !before.checks.includes(check))
    if (worse.length > 0) return { ok: false, problem: `familiar doctor: ${worse.join(', ')}` }
    for (const path of configuration) rmSync(join(copy.root, basename(path)), { recursive: true, force: true })
    const status = await answersStatus(onCopy(change.triedCommand, alone), change.to)
    if (!status.ok) return status
    return await answersMessage({ command: change.triedCommand, home: join(folder, 'empty'), env: alone, signal })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function withoutKeys(env: CommandContext['env']): CommandContext['env'] {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !/KEY|TOKEN|SECRET|PASSWORD|^FAMILIAR_/i.test(name)))
}

/**
 * The progress of an update, written before each step, so that the next update can finish an interrupted one: `trying` has
 * changed nothing, from `changing` on the program may be either version, and `returning` goes back.
 */
const journalSchema = z.object({
  from: z.string(),
  to: z.string(),
  phase: z.enum(['trying', 'changing', 'returning']),
  /** The database as the old version left it; null if there was none yet. */
  snapshot: z.string().nullable(),
  /** The newest migration that `from` knows. */
  schema: z.string().default(''),
  /** On the way back to an older version: the database that is put in place with it; null if the present one stays. */
  database: z.string().nullable().default(null),
  /** It goes back to an older version, from which there is no way back by command. */
  isRollback: z.boolean().default(false),
  pid: z.int().positive(),
  identity: z.string(),
})
type UpdateJournal = z.infer<typeof journalSchema>

/** The last update that succeeded, for `familiar update --rollback`. */
const recordSchema = z.object({
  from: z.string(),
  to: z.string(),
  at: z.number(),
  snapshot: z.string().nullable(),
  /** The newest migration that `from` knows. */
  schema: z.string(),
  /** In a clone, the commit of `from`. */
  commit: z.string().nullable(),
})
export type UpdateRecord = z.infer<typeof recordSchema>

/** A note about updates in a file of the home; unreadable is absent. */
function noteOf<T>(name: string, schema: z.ZodType<T>) {
  const pathIn = (home: string) => join(homePaths(home).run, name)
  return {
    read: (home: string): T | undefined => readJsonFile(pathIn(home), schema),
    write: (home: string, value: T) => writeFileAtomically(pathIn(home), `${JSON.stringify(value)}\n`),
    remove: (home: string) => rm(pathIn(home), { force: true }),
  }
}

export const journalFile = noteOf('update.json', journalSchema)
export const recordFile = noteOf('last-update.json', recordSchema)

/** Undefined if it is absent or not valid. */
export function readJsonFile<T>(path: string, schema: z.ZodType<T>): T | undefined {
  try {
    const parsed = parseJson(readFileSync(path, 'utf8'), schema)
    return parsed.ok ? parsed.value : undefined
  } catch {
    return undefined
  }
}

/** The newest one that this version knows: another version with the same can continue with the same database. */
export const newestMigration = allMigrations.at(-1)?.name ?? ''

type ChangeOutcome = {
  snapshot: string | null
  /** A daemon was running that only its user can start again. */
  startAgain: boolean
} & (
  | { ok: true /** The database of before, where an older one was put in its place. */; replaced: string | null }
  | { ok: false; problem: string; keptAside: string | null }
)

/**
 * Tries the new version, stops the daemon, takes the snapshot, changes the program and checks it; if it is not healthy,
 * both are restored.
 *
 * No message is lost meanwhile: from the snapshot to the check of the changed program no daemon runs on the home, so
 * senders are refused or wait. Only a daemon that was started again and then failed may have stored data newer than the
 * snapshot: so the database stays if the old version can read it, and is kept aside otherwise.
 */
export async function changeProgram(
  context: CommandContext,
  change: ProgramChange,
  back?: { database: string | null },
): Promise<ChangeOutcome> {
  const { homePath: home, output } = context
  const { from, to } = change
  const identity = processIdentity(process.pid) ?? ''
  let journal: UpdateJournal = {
    from,
    to,
    phase: 'trying',
    snapshot: null,
    pid: process.pid,
    identity,
    schema: newestMigration,
    database: back?.database ?? null,
    isRollback: back !== undefined,
  }
  const note = (next: Partial<UpdateJournal>) => {
    journal = { ...journal, ...next }
    return journalFile.write(home, journal)
  }
  await note({})
  output.note(`Trying ${to} on a copy of the home.`)
  const tried = await tryProgram(context, change, back?.database)
  if (!tried.ok) {
    await settle(home, change)
    return { ...tried, snapshot: null, startAgain: false, keptAside: null }
  }
  output.note('Stopping Familiar, copying the database and replacing the program.')
  const stopped = await stopDaemon(context)
  const startAgain = stopped.service === null
  let replaced: string | undefined
  try {
    await note({ phase: 'changing', snapshot: await takeSnapshot(home, to) })
    await change.apply()
    if (back?.database) replaced = (await putInPlace(home, back.database)).keptAside
  } catch (error) {
    await change.undo()
    if (replaced && journal.snapshot) await putInPlace(home, journal.snapshot)
    await stopped.release()
    await settle(home, change)
    throw error
  }
  const { snapshot } = journal
  const health = await checkChanged(context, change, stopped)
  if (health.ok) {
    await complete(home, change, journal)
    return { ok: true, snapshot, startAgain, replaced: replaced ?? null }
  }
  output.note(`${to} failed its check. Going back to ${from}.`)
  await note({ phase: 'returning' })
  const { keptAside } = await goBack(context, change, { snapshot, keepsNewer: health.hasServed && !back })
  await settle(home, change)
  if (stopped.service) await resumeService(context, stopped.service, from)
  return { ok: false, problem: health.problem, snapshot, startAgain, keptAside }
}

async function checkChanged(context: CommandContext, change: ProgramChange, stopped: StoppedDaemon) {
  await stopped.release()
  const { homePath: home, env, signal } = context
  const answered = await answersStatus({ command: change.command, home, env, signal }, change.to)
  if (!answered.ok) return { ...answered, hasServed: false }
  const served = stopped.service ? await resumeService(context, stopped.service, change.to) : answered
  return { ...served, hasServed: true }
}

/** Restores the old program, and the snapshot if the old program cannot use the present database. */
export async function goBack(
  context: CommandContext,
  change: ProgramChange,
  { snapshot, keepsNewer }: { snapshot: string | null; keepsNewer: boolean },
): Promise<{ keptAside: string | null }> {
  const { homePath: home, env, signal } = context
  const stopped = await stopDaemon(context)
  try {
    // The program first: the database of before can be put back by it alone.
    await change.undo()
    if (snapshot === null) return { keptAside: null }
    if (keepsNewer) {
      await stopped.release()
      const old = await answersStatus({ command: change.command, home, env, signal }, change.from)
      if (old.ok) return { keptAside: null }
    }
    return { keptAside: (await putInPlace(home, snapshot)).keptAside ?? null }
  } finally {
    await stopped.release()
  }
}

export async function replaceDatabase(context: CommandContext, backupPath: string): Promise<void> {
  const stopped = await stopDaemon(context)
  try {
    await putInPlace(context.homePath, backupPath)
  } finally {
    await stopped.release()
  }
}

/** The home is locked, so the database is not open elsewhere. */
function putInPlace(home: string, backupPath: string): Promise<{ keptAside: string | undefined }> {
  const { database: databasePath } = homePaths(home)
  return restoreSqlite({ backupPath, databasePath, clock: systemClock(), isInUse: () => false })
}

/** The new version is in place and healthy: keeps the old one for a way back, and removes the rest. */
export async function complete(home: string, change: ProgramChange, journal: UpdateJournal): Promise<void> {
  const { from, to, snapshot, schema, isRollback } = journal
  if (isRollback) await recordFile.remove(home)
  else {
    const commit = await change.keepOld()
    await recordFile.write(home, { from, to, at: Date.now(), snapshot, schema, commit })
  }
  await settle(home, change)
}

export async function settle(home: string, change: ProgramChange): Promise<void> {
  await change.finish()
  await journalFile.remove(home)
}

async function takeSnapshot(home: string, to: string): Promise<string | null> {
  const paths = homePaths(home)
  if (!existsSync(paths.database)) return null
  const path = join(paths.backups, `familiar-before-${to}-${timeForFileName(Date.now())}.db`)
  await copyDatabase({ databasePath: paths.database, targetPath: path })
  return path
}

/** The kind of installation, which says how it can be replaced. */
export type Installation =
  /** A clone of the repository, with its history or without. */
  | { kind: 'clone'; root: string; command: string; hasHistory: boolean }
  /** By `npm install -g`: `root` is below `prefix`, and `command` is npm's link to it. */
  | { kind: 'global'; root: string; command: string; prefix: string }
  /** From npx's cache. */
  | { kind: 'npx'; root: string; command: string }
  /** As a dependency of another project. */
  | { kind: 'package'; root: string; command: string }

const ownRoot = fileURLToPath(new URL('../../../', import.meta.url))

/** The work folder, next to the program: a rename is atomic only inside one file system. */
export const workFolderName = '.familiar-update'

export function findInstallation(at: string = ownRoot): Installation {
  const root = at.endsWith(sep) ? at.slice(0, -1) : at
  const command = join(root, 'bin', 'familiar')
  if (existsSync(join(root, 'src'))) return { kind: 'clone', root, command, hasHistory: existsSync(join(root, '.git')) }
  if (root.split(sep).includes('_npx')) return { kind: 'npx', root, command }
  const modules = dirname(root)
  const prefix = dirname(dirname(modules))
  const link = join(prefix, 'bin', 'familiar')
  const isBelowPrefix = basename(modules) === 'node_modules' && basename(dirname(modules)) === 'lib'
  if (isBelowPrefix && leadsHere(link, { command, modules })) return { kind: 'global', root, command: link, prefix }
  return { kind: 'package', root, command }
}

/** A link that an interrupted update left leads here through the update's own folder. */
function leadsHere(link: string, { command, modules }: { command: string; modules: string }): boolean {
  try {
    const target = realpathSync(link)
    return target === realpathSync(command) || target.startsWith(join(modules, workFolderName) + sep)
  } catch {
    return false
  }
}
