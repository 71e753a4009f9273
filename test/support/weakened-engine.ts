import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** The part of what a container is made from that tests take out. */
export interface ContainerSpec {
  User?: string
  HostConfig: {
    Memory?: number
    MemorySwap?: number
    PidsLimit?: number
    SecurityOpt?: string[]
    CapDrop?: string[]
    ReadonlyRootfs?: boolean
    NetworkMode?: string
    Tmpfs?: Record<string, string>
  }
}

/**
 * A proxy in front of a real engine that leaves out some of the requested restrictions. A driver must notice, and the
 * probes must fail.
 */
export async function startWeakenedEngine(options: {
  socketPath: string
  target: string
  weaken: (spec: ContainerSpec) => void
}): Promise<{ stop(): void }> {
  const { socketPath, target, weaken } = options
  const sockets = new Set<Socket>()
  const server = createServer({ allowHalfOpen: true }, async (client) => {
    const engine = connect({ path: target, allowHalfOpen: true })
    for (const socket of [client, engine]) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
    }
    engine.pipe(client)
    const request = await readRequest(client)
    engine.write(request.startsWith('POST /containers/create') ? rewrite(request, weaken) : request, 'latin1')
    client.pipe(engine)
  })
  server.listen(socketPath)
  await once(server, 'listening')
  return {
    stop() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

/** The head of a request, and the body too if its length is known. */
async function readRequest(client: Socket): Promise<string> {
  let text = ''
  while (!isWhole(text)) {
    const piece: Buffer | null = client.read()
    if (piece) text += piece.toString('latin1')
    else if (client.readableEnded) return text
    else await Promise.race([once(client, 'readable'), once(client, 'end')])
  }
  return text
}

function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  const length = Number(/\r\ncontent-length: (\d+)/i.exec(text)?.[1] ?? 0)
  return end !== -1 && text.length >= end + 4 + length
}

function rewrite(request: string, weaken: (spec: ContainerSpec) => void): string {
  const [head = '', body = ''] = request.split('\r\n\r\n')
  const spec: ContainerSpec = JSON.parse(Buffer.from(body, 'latin1').toString('utf8'))
  weaken(spec)
  const changed = Buffer.from(JSON.stringify(spec)).toString('latin1')
  return `${head.replace(/content-length: \d+/i, `Content-Length: ${changed.length}`)}\r\n\r\n${changed}`
}
