import { realpathSync } from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { delimiter, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from './config/config.ts'

export type HomePaths = ReturnType<typeof homePaths>

/** All paths of the home, by name. Nothing else in the program joins these paths. */
export function homePaths(home: string) {
  const root = resolve(home)
  const inside = (...parts: string[]) => join(root, ...parts)
  return {
    root,
    config: inside('familiar.toml'),
    providers: inside('providers.d'),
    environment: inside('.env'),
    database: inside('familiar.db'),
    key: inside('key'),
    workspace: inside('workspace'),
    workspaceMemory: inside('workspace', 'memory'),
    skills: inside('workspace', 'skills'),
    tools: inside('tools'),
    capabilities: inside('capabilities'),
    media: inside('media'),
    /** Earlier contents of files that a program replaced and that have no versions. */
    replacedFiles: inside('replaced-files'),
    monitor: inside('monitor.json'),
    backups: inside('backups'),
    log: inside('log'),
    run: inside('run'),
    cache: inside('cache'),
    sandbox: inside('run', 'sandbox'),
    browserProfiles: inside('browser'),
    voice: inside('voice'),
    /** Packages of model providers, in npm's layout. */
    packages: inside('packages'),
    daemonInfo: inside('run', 'daemon.json'),
    daemonLock: inside('run', 'daemon.lock'),
    pidFile: inside('familiar.pid'),
  }
}

/** `FAMILIAR_HOME`, otherwise `.familiar` in the user's home directory. */
export function resolveHome(env: Readonly<Record<string, string | undefined>>, userDirectory: string): string {
  const named = env.FAMILIAR_HOME?.trim()
  if (!named) return join(userDirectory, '.familiar')
  // A shell expands ~; a service file or a process manager's `.env` does not.
  return resolve(named === '~' || named.startsWith('~/') ? join(userDirectory, named.slice(1)) : named)
}

const program = fileURLToPath(new URL('../../bin/familiar', import.meta.url))

/**
 * Writes a command that works when pasted into another terminal of this machine: `familiar` if that name on the PATH is
 * this program, otherwise its path; with `--home` if the home is not the default one.
 */
export function createCommandLine(options: {
  home: string
  env: Readonly<Record<string, string | undefined>>
}): (words: string) => string {
  const name = isOnPath(options.env.PATH ?? '') ? 'familiar' : quoted(program)
  const isUsual = resolve(options.home) === resolveHome({}, homedir())
  const suffix = isUsual ? '' : ` --home ${quoted(resolve(options.home))}`
  return (words) => `${name} ${words}${suffix}`
}

function isOnPath(path: string): boolean {
  const folder = path.split(delimiter).find((one) => one !== '' && realPathOf(join(one, 'familiar')) !== undefined)
  return folder !== undefined && realPathOf(join(folder, 'familiar')) === realPathOf(program)
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** A path in the user's home directory is written with ~, which every shell expands. */
function quoted(path: string): string {
  const home = `${homedir()}/`
  const isPlain = /^[\w@%+=:,./-]+$/.test(path)
  if (isPlain) return path.startsWith(home) ? `~/${path.slice(home.length)}` : path
  return `'${path.replaceAll("'", String.raw`'\''`)}'`
}

/**
 * The path of the key that seals secrets and approvals. Daemons that share a database need the same one: in their
 * shared directory, or where `FAMILIAR_KEY_FILE` points. Never in a bucket, whose operator could read it.
 */
export function keyFileOf(
  { keyFile, database, shared }: Pick<Config, 'keyFile' | 'database' | 'shared'>,
  paths: Pick<HomePaths, 'key'>,
): string {
  if (keyFile !== null) return keyFile
  return database.url !== null && shared?.kind === 'directory' ? join(shared.directory, 'key') : paths.key
}

const packageInfo = createRequire(import.meta.url)('../../package.json') as { version: string }

export const version = packageInfo.version
