import type { SandboxCommand } from '../sandbox.ts'
import { innerPath } from './inner-programs.ts'
import { loweredLimits } from './lowered-limits.ts'
import { type Door, openDoor } from './network/door.ts'
import type { SandboxAccount } from './sandbox-account.ts'
import type { Stage } from './stage/open-stage.ts'
import type { PreparedCommand } from './world/world.ts'

/** Every program speaks UTF-8 in it, and it is there on every machine. */
export const innerLanguage = 'C.UTF-8'

const proxyPort = 3128
const innerSocket = '/run/familiar/proxy.sock'

/** Programs differ in which of them they heed, and Node only if it is told to. */
const proxyEnvironment = Object.fromEntries([
  ...['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'].map((name) => [name, `http://127.0.0.1:${proxyPort}`]),
  ...['NO_PROXY', 'no_proxy'].map((name) => [name, 'localhost,127.0.0.1,::1']),
  ['NODE_USE_ENV_PROXY', '1'],
])

/** Brings everything that the command names to where the sandbox's account can reach it, until `release`. */
export async function prepareCommand(options: {
  command: SandboxCommand
  stage: Stage
  account: SandboxAccount
  /** Of this call, among those of the driver. */
  name: string
  hasCgroup: boolean
}): Promise<{ prepared: PreparedCommand; release(): Promise<void> }> {
  const { command, stage, account } = options
  const [program] = command.argv
  const releases: (() => void | Promise<void>)[] = []
  const release = async () => {
    for (const each of releases.splice(0)) await each()
  }
  try {
    const binds: { source: string; target: string }[] = []
    for (const { source, target } of command.mounts) {
      const folder = await stage.folders.hold(source)
      releases.push(folder.release)
      binds.push({ source: folder.path, target })
    }
    const { network } = command
    if (network.kind === 'proxy') {
      const { socketPath } = network
      const door: Door = await openDoor({ socketPath, account, directory: stage.doors, name: options.name })
      releases.push(door.close)
      binds.push({ source: door.path, target: innerSocket })
    }
    const relay = network.kind === 'proxy' ? { port: proxyPort, path: innerSocket } : null
    const given = { PATH: innerPath, HOME: '/tmp', LANG: innerLanguage, ...(relay ? proxyEnvironment : {}) }
    const lowered = options.hasCgroup ? null : loweredLimits(command.limits, program)
    const environment = { ...given, ...command.environment }
    return { prepared: { ...command, environment, binds, relay, lowered }, release }
  } catch (cause) {
    await release()
    throw cause
  }
}
