import { chmod, chown, rm } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { SandboxAccount } from '../sandbox-account.ts'

/** A socket that the sandbox's account may open, leading to another one that it may not. */
export interface Door {
  path: string
  close(): Promise<void>
}

/** The user's own sandbox reaches the user's own socket; anybody else's gets a door of its own for the time of the call. */
export async function openDoor(options: {
  socketPath: string
  account: SandboxAccount
  directory: string
  name: string
}): Promise<Door> {
  const { socketPath, account } = options
  if (!account.isOther) return { path: socketPath, async close() {} }
  const path = join(options.directory, options.name)
  const open = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (inner) => {
    const outer = connect({ path: socketPath, allowHalfOpen: true })
    const both = [inner, outer]
    for (const socket of both) {
      open.add(socket)
      socket.on('error', () => both.forEach((each) => void each.destroy()))
      socket.on('close', () => open.delete(socket))
    }
    inner.pipe(outer)
    outer.pipe(inner)
  })
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(path, resolve))
  await chown(path, 0, account.gid)
  await chmod(path, 0o660)
  return {
    path,
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise<void>((resolve) => server.close(() => resolve()))
      await rm(path, { force: true })
    },
  }
}
