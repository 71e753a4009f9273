import { acquireDaemonLock, writeDaemonInfo } from '../../src/daemon/daemon-lock.ts'
import { openHome } from '../../src/daemon/home.ts'
import { type ServedFamiliar, serveFamiliar } from '../security/http-support.ts'
import { cleanUp } from './cli-process.ts'

/** A home that is served as by a daemon, so that the command line finds it and needs not start one for each command. */
export async function serveHome(options: Parameters<typeof serveFamiliar>[0]): Promise<{
  served: ServedFamiliar
  home: string
  close(): Promise<void>
}> {
  const served = await serveFamiliar(options)
  const { home } = served.familiar
  await openHome(home)
  const lock = await acquireDaemonLock(home)
  if (!lock.ok) throw new Error('The home is held by another process')
  await writeDaemonInfo(home, { url: served.server.url, credential: served.localToken })
  return {
    served,
    home,
    async close() {
      await lock.release()
      await served.close()
      await cleanUp()
    },
  }
}
