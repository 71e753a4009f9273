import { join, resolve } from 'node:path'

/** Everything that Familiar keeps, by name. Nothing else in the program joins these paths. */
export interface HomePaths {
  root: string
  config: string
  providers: string
  environment: string
  database: string
  key: string
  workspace: string
  workspaceMemory: string
  skills: string
  tools: string
  capabilities: string
  media: string
  monitor: string
  backups: string
  log: string
  run: string
  cache: string
  sandbox: string
  browserProfiles: string
  voice: string
  daemonInfo: string
  daemonLock: string
  pidFile: string
}

export function homePaths(home: string): HomePaths {
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
    monitor: inside('monitor.json'),
    backups: inside('backups'),
    log: inside('log'),
    run: inside('run'),
    cache: inside('cache'),
    sandbox: inside('run', 'sandbox'),
    browserProfiles: inside('browser'),
    voice: inside('voice'),
    daemonInfo: inside('run', 'daemon.json'),
    daemonLock: inside('run', 'daemon.lock'),
    pidFile: inside('familiar.pid'),
  }
}

/** `FAMILIAR_HOME`, otherwise `.familiar` in the user's own directory. */
export function resolveHome(env: Readonly<Record<string, string | undefined>>, userDirectory: string): string {
  const named = env.FAMILIAR_HOME?.trim()
  if (!named) return join(userDirectory, '.familiar')
  // A shell expands ~; a service file or `.env` of a process manager does not.
  return resolve(named === '~' || named.startsWith('~/') ? join(userDirectory, named.slice(1)) : named)
}
