import { homePaths } from '../../daemon/home-paths.ts'
import { type Place, showPlace } from './place.ts'

/** What is left to do by hand after the rows have moved, and what they do not include. */
export function nextSteps(from: Place, to: Place, homePath: string): string[] {
  const home = homePaths(to.engine === 'sqlite' && to.home ? to.home : homePath)
  return [
    '',
    ...(to.engine === 'postgres' ? useServer(to, home) : useFile(to, home)),
    '',
    'Not moved, because they are files of the home: key (without it no secret can be read), familiar.toml, .env,',
    'providers.d, workspace, tools, capabilities and media. Copy them where Familiar is to run on another machine.',
    `What was there before is unchanged: ${showPlace(from)}`,
  ]
}

function useServer(to: Place, home: ReturnType<typeof homePaths>): string[] {
  return [
    `From now on: FAMILIAR_DATABASE_URL=${showPlace(to)} in the environment or in ${home.environment},`,
    `or in ${home.config}:`,
    '  [database]',
    `  url = "${showPlace(to)}"`,
    `Where several daemons are to share it: FAMILIAR_KEY_FILE, or the key as "key" in the [shared] directory (now: ${home.key}).`,
  ]
}

function useFile(to: Extract<Place, { engine: 'sqlite' }>, home: ReturnType<typeof homePaths>): string[] {
  const leaveServer = `take FAMILIAR_DATABASE_URL out of the environment and of ${home.environment}, and [database] out of ${home.config}.`
  return to.home
    ? [`From now on: familiar --home ${to.home}. Where PostgreSQL was used, ${leaveServer}`]
    : [`To use it: familiar restore ${to.path}, and ${leaveServer}`]
}
