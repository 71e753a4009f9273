import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * A proxy that can be cut: open connections break off, and new ones fail until it is repaired. With `pauseMs` it waits that long
 * before each piece that the browser sends.
 */
export async function openCuttingProxy(target: string, { pauseMs = 0 }: { pauseMs?: number } = {}) {
  const { port } = new URL(target)
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer((near) => {
    if (isCut) return near.destroy()
    const far = connect(Number(port), '127.0.0.1')
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one)
      if (pauseMs > 0 && one === near) slowly(near, far, pauseMs)
      else one.pipe(other)
      one.on('error', () => undefined)
      one.on('close', () => {
        open.delete(one)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true
      for (const socket of open) socket.resetAndDestroy()
    },
    mend() {
      isCut = false
    },
    async close() {
      for (const socket of open) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function slowly(from: Socket, to: Socket, pauseMs: number): void {
  from.on('data', (piece) => {
    from.pause()
    setTimeout(() => {
      to.write(piece)
      from.resume()
    }, pauseMs)
  })
  from.on('end', () => to.end())
}
