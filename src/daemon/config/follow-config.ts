import { type FSWatcher, type Stats, unwatchFile, watch, watchFile } from 'node:fs'
import { isDeepStrictEqual } from 'node:util'
import { homePaths } from '../home-paths.ts'
import type { RestartConfig } from './config.ts'

/** The quiet time after a burst of writes: an editor writes a file in several steps. */
const settleMs = 200
/** How often the files at the top of the home are checked. It cannot be watched: the database is in it. */
const lookEveryMs = 1_000

/**
 * Calls `onChange` after `familiar.toml`, `.env` or a provider file was written, replaced or removed. It may also call
 * it without an actual change. Returns a function that stops it.
 */
export function followConfigFiles(home: string, onChange: () => void): () => void {
  const { config, environment, providers } = homePaths(home)
  let timer: NodeJS.Timeout | undefined
  const changed = () => {
    clearTimeout(timer)
    timer = setTimeout(onChange, settleMs)
    timer.unref()
  }
  const looked = (now: Stats, before: Stats) => {
    // Node also calls this once for a file that does not exist, with zeros.
    if (now.ino !== 0 || before.ino !== 0) changed()
  }
  for (const file of [config, environment]) watchFile(file, { interval: lookEveryMs, persistent: false }, looked)
  const directory = watchDirectory(providers, changed)
  return () => {
    clearTimeout(timer)
    for (const file of [config, environment]) unwatchFile(file, looked)
    directory?.close()
  }
}

/** Undefined if the system has no watches left: then SIGHUP and `familiar reload` still work. */
function watchDirectory(path: string, changed: () => void): FSWatcher | undefined {
  try {
    return watch(path, { persistent: false }, changed).on('error', () => undefined)
  } catch {
    return undefined
  }
}

/** The name of each restart setting in `familiar.toml` or the environment, and the part of it that counts. */
const restartSettings: { [Key in keyof RestartConfig]: [name: string, part: (config: RestartConfig) => unknown] } = {
  assets: ['assets', ({ assets }) => assets.roots],
  callback: ['callback', ({ callback }) => callback !== null],
  capabilities: ['capabilities.max_concurrent_builds', ({ capabilities }) => capabilities.maxConcurrentBuilds],
  database: ['database', ({ database }) => database],
  http: ['http', ({ http }) => http],
  memory: ['memory.embedding', ({ memory }) => memory.embedding],
  sandbox: ['sandbox', ({ sandbox }) => sandbox],
  sessions: ['sessions.max_concurrent_turns', ({ sessions }) => sessions.maxConcurrentTurns],
  shared: ['shared', ({ shared }) => shared],
  telegram: ['telegram', ({ telegram }) => telegram && { token: telegram.token, apiRoot: telegram.apiRoot }],
  telemetry: ['telemetry', ({ telemetry }) => telemetry],
  tools: ['tools.directories', ({ tools }) => tools.directories],
  keyFile: ['FAMILIAR_KEY_FILE', ({ keyFile }) => keyFile],
  token: ['FAMILIAR_TOKEN', ({ token }) => token],
}

/** Their names, for the documentation. */
export const settingsReadAtStart: readonly string[] = Object.values(restartSettings).map(([name]) => name)

/** Settings that have changed since the start and wait for the next one, by their names. */
export function restartNeeded(atStart: RestartConfig, current: RestartConfig): string[] {
  return Object.values(restartSettings)
    .filter(([, part]) => !isDeepStrictEqual(part(atStart), part(current)))
    .map(([name]) => name)
}
