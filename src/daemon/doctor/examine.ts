import type { LoadedConfig } from '../config/load-config.ts'
import { homePaths } from '../home-paths.ts'
import { keyFileOf } from '../key-file-of.ts'
import { checkBrowser } from './check-browser.ts'
import { checkConfig } from './check-config.ts'
import { checkDatabase } from './check-database.ts'
import { checkHome } from './check-home.ts'
import { checkClock, checkDisk, checkNode } from './check-machine.ts'
import { checkProviders, checkTokenizer } from './check-models.ts'
import { checkServer } from './check-server.ts'
import { checkShared } from './check-shared.ts'
import { checkTelegram } from './check-telegram.ts'
import { type Finding, fail, reasonOf } from './finding.ts'

type SoundConfig = Extract<LoadedConfig, { ok: true }>

/** What a daemon has open, and the command line opens for the look alone. */
export interface PartChecks {
  routes(loaded: SoundConfig): Promise<Finding[]>
  voice(loaded: SoundConfig): Promise<Finding[]>
  sandbox(loaded: SoundConfig): Promise<Finding[]>
}

/** Looks at everything, changes nothing, and needs neither a daemon nor a sound configuration. */
export async function examine(options: {
  homePath: string
  env: Readonly<Record<string, string | undefined>>
  /** Whether one runs in this home, and how it does. */
  daemon(): Promise<{ finding: Finding; isRunning: boolean }>
  parts: PartChecks
  /** Also asks the servers that are configured whether they take the keys. */
  network: boolean
}): Promise<Finding[]> {
  const { homePath, env, parts, network } = options
  const { loaded, findings: config } = checkConfig(homePath, env)
  const [home, disk, { finding: daemon, isRunning }] = await Promise.all([
    look('home', checkHome(homePath)),
    look('disk', checkDisk(homePath)),
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
    ...(loaded.ok ? await look('shared place', checkShared(loaded.config, network)) : []),
    ...(loaded.ok ? await look('routes', parts.routes(loaded)) : []),
    ...(loaded.ok && network ? await look('providers', checkProviders(loaded.config)) : []),
    ...(loaded.ok ? await look('telegram', checkTelegram(loaded, network)) : []),
    ...(loaded.ok ? await look('voice', parts.voice(loaded)) : []),
    ...(loaded.ok ? await look('browser', checkBrowser(loaded.config, loaded.environment.PATH ?? '')) : []),
    ...(loaded.ok ? await look('sandbox', parts.sandbox(loaded)) : []),
    checkTokenizer(),
  ]
}

/** A look that fails itself is a finding too. */
async function look(check: string, looking: Promise<Finding | Finding[]>): Promise<Finding[]> {
  return looking.then(
    (found) => [found].flat(),
    (error: unknown) => [fail(check, `Could not be looked at: ${reasonOf(error)}`)],
  )
}
