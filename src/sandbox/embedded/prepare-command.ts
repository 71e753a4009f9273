import { once } from 'node:events'
import { chmod, chown, open as openFile } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { SandboxCommand, SandboxMount } from '../sandbox.ts'
import { loweredLimits, type PreparedCommand } from './launcher.ts'
import { innerPath, type Stage } from './stage.ts'
import { checkedFolder } from './writable-folders.ts'

/** Every program uses UTF-8 with it, and it exists on every machine. */
export const innerLanguage = 'C.UTF-8'

/** Any port is free in a network that is otherwise empty. */
export const proxyPort = 3128
const innerSocket = '/run/familiar/proxy.sock'

/** The variables that a driver sets. Programs differ in which of the proxy's they use, and Node needs an option. */
export function driverEnvironment({ network }: SandboxCommand): Record<string, string> {
  const usual = { HOME: '/tmp', LANG: innerLanguage }
  if (network.kind !== 'proxy') return usual
  const proxy = `http://127.0.0.1:${proxyPort}`
  const direct = 'localhost,127.0.0.1,::1'
  return {
    ...usual,
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    http_proxy: proxy,
    https_proxy: proxy,
    NO_PROXY: direct,
    no_proxy: direct,
    NODE_USE_ENV_PROXY: '1',
  }
}

/** Makes everything that the command names readable for the sandbox's account, until `release`. */
export async function prepareSandboxCommand(options: {
  command: SandboxCommand
  stage: Stage
  /** Of this call; unique within the driver. */
  name: string
  hasCgroup: boolean
}): Promise<{ prepared: PreparedCommand; release(): Promise<void> }> {
  const { command, stage } = options
  const { account } = stage
  const [program] = command.argv
  const releases: (() => void | Promise<void>)[] = []
  const release = async () => {
    for (const each of releases.splice(0)) await each()
  }
  try {
    const binds: SandboxMount[] = []
    for (const { source, target, isWritable } of command.mounts) {
      if (isWritable) {
        binds.push({ source: checkedFolder(stage.writable, source), target, isWritable })
        continue
      }
      const folder = await stage.folders.hold(source)
      releases.push(folder.release)
      binds.push({ source: folder.path, target })
    }
    const { network } = command
    if (network.kind === 'proxy') {
      const shared = account.isOther ? { mode: 0o660, gid: account.gid } : { mode: 0o600 }
      const { socketPath: target } = network
      const door = await openDoor({ directory: stage.doors, name: options.name, target, ...shared })
      releases.push(door.close)
      binds.push({ source: door.path, target: innerSocket })
    }
    const relay = network.kind === 'proxy' ? { port: proxyPort, path: innerSocket } : null
    const lowered = options.hasCgroup ? null : loweredLimits(command.limits, program)
    const environment = { PATH: innerPath, ...driverEnvironment(command), ...command.environment }
    return { prepared: { ...command, environment, binds, relay, lowered }, release }
  } catch (cause) {
    await release()
    throw cause
  }
}

/**
 * A socket that the sandbox's account may open, leading to one that it may not. Each call gets its own: the account of
 * root's sandboxes could not open the original, and mounting it would reveal its path on the host. `directory` is
 * private. The caller closes it.
 */
export async function openDoor(options: {
  directory: string
  name: string
  target: string
  mode: number
  /** Of the sandbox's account, if it is another user's. */
  gid?: number | undefined
}) {
  const { directory, name, target, mode, gid } = options
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (inner) => {
    const outer = connect({ path: target, allowHalfOpen: true })
    const both = [inner, outer]
    for (const socket of both) {
      open.add(socket)
      socket.on('error', () => both.forEach((each) => void each.destroy()))
      socket.on('close', () => open.delete(socket))
    }
    inner.pipe(outer)
    outer.pipe(inner)
  })
  // A socket address is limited to 107 bytes, which the folder may exceed: this is a short path to the same folder.
  const handle = await openFile(directory, 'r')
  const path = `/proc/self/fd/${handle.fd}/${name}`
  async function close(): Promise<void> {
    for (const socket of open) socket.destroy()
    await new Promise<void>((resolve) => server.close(() => resolve()))
    await handle.close()
  }
  try {
    await once(server.listen(path), 'listening')
    if (gid !== undefined) await chown(path, 0, gid)
    await chmod(path, mode)
  } catch (cause) {
    await close()
    throw cause
  }
  return { path: join(directory, name), close }
}
