import { existsSync } from 'node:fs'
import { acquireDaemonLock } from '../../daemon/daemon-lock.ts'
import { homePaths } from '../../daemon/home-paths.ts'
import { CommandError } from '../command-error.ts'
import type { Place } from './place.ts'

/**
 * Keeps daemons from the homes whose database is read or written, until it is let go of. Refuses where one runs. A folder
 * in which Familiar never ran needs no holding and is left as it is.
 */
export async function holdHomes(places: readonly Place[]): Promise<AsyncDisposable> {
  const homes = places.flatMap((place) => (place.engine === 'sqlite' && place.home ? [place.home] : []))
  await using held = new AsyncDisposableStack()
  for (const home of new Set(homes)) {
    if (!existsSync(homePaths(home).run)) continue
    const lock = await acquireDaemonLock(home)
    if (!lock.ok) throw isRunning(home, lock.pid)
    held.defer(() => lock.release())
  }
  return held.move()
}

function isRunning(home: string, pid: number | null): CommandError {
  return new CommandError(`Familiar is running on ${home}${pid === null ? '' : ` (process ${pid})`}.`, {
    code: 'locked',
    hint: `Stop it first${pid === null ? '' : `: kill ${pid}`}. A service: systemctl --user stop familiar.service`,
  })
}
