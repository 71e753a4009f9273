import { once } from 'node:events'
import { chmod, open } from 'node:fs/promises'
import { connect, createServer, type Socket } from 'node:net'

/**
 * A second socket in front of one that only this user may use, for a container whose user is another one. `folder` is
 * ours alone, and the socket is bound into that container only. Whoever opens it closes it.
 */
export async function openDoor(options: { folder: string; name: string; target: string }): Promise<AsyncDisposable> {
  const { folder, name, target } = options
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, (inner) => {
    const outer = connect({ path: target, allowHalfOpen: true })
    for (const [socket, other] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => other.destroy())
      socket.on('close', () => sockets.delete(socket))
      socket.pipe(other)
    }
  })
  // The address of a socket holds 107 bytes, and a folder may lie deeper than that: this is the same folder, spelled short.
  const handle = await open(folder, 'r')
  const path = `/proc/self/fd/${handle.fd}/${name}`
  try {
    server.listen(path)
    await once(server, 'listening')
    await chmod(path, 0o666)
  } catch (cause) {
    await handle.close()
    throw cause
  }
  return {
    async [Symbol.asyncDispose]() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await handle.close()
    },
  }
}
