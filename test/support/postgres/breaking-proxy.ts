import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface BreakingProxy extends AsyncDisposable {
  /** The same database, through here. */
  url: string
  /** Breaks the connection once, at the first statement that contains `text`: before it is sent on, or after it was. */
  breakAt(text: string, when: 'before' | 'after'): void
}

/** Stands between a program and the server of the tests, on a socket of its own. */
export async function startBreakingProxy(databaseUrl: string): Promise<BreakingProxy> {
  const directory = mkdtempSync(join(tmpdir(), 'familiar-proxy-'))
  const target = new URL(databaseUrl)
  const serverSocket = join(target.searchParams.get('host') ?? '', socketName)
  const sockets = new Set<Socket>()
  let plan: { text: string; when: 'before' | 'after' } | undefined

  const server = createServer((client) => {
    const upstream = createConnection(serverSocket)
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(socket)
          client.destroy()
          upstream.destroy()
        })
    }
    upstream.pipe(client)
    client.on('data', (bytes) => {
      const broken = plan && bytes.includes(plan.text) ? plan : undefined
      if (!broken) return upstream.write(bytes)
      plan = undefined
      if (broken.when === 'before') return client.destroy()
      upstream.unpipe(client)
      // The server answers when it is done, but the response is dropped.
      upstream.once('data', () => client.destroy()).resume()
      upstream.write(bytes)
    })
  })
  server.listen(join(directory, socketName))
  await once(server, 'listening')
  target.searchParams.set('host', directory)
  return {
    url: target.href,
    breakAt(text, when) {
      plan = { text, when }
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

const socketName = '.s.PGSQL.5432'
