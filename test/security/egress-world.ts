import { createServer, type Server } from 'node:http'
import { listedHosts, ports, privateAddresses, publicAddresses, type Reached } from './egress-table.ts'

/** A way out of the program. `reach` makes one request, redirects included, and says how it ended. */
export interface WayOut {
  name: string
  policy: 'fetch' | 'browser' | 'declared'
  /** It has no scheme: the caller names a host and a port. */
  isTunnel?: true
  reach(url: string): Promise<Answered>
  close(): Promise<void>
}

/** `refused` is the guard's own word; what failed for another reason is neither. */
export type Answered = { end: 'answered'; text: string } | { end: 'refused' } | { end: 'failed'; reason: string }

export interface EgressWorld {
  /** Attempts and arrivals since the last call. */
  take(): string[]
  close(): Promise<void>
}

/** The commands that give a network of its own all the addresses of the table. */
export const worldCommands = [
  'ip link set lo up',
  ...[...publicAddresses, ...privateAddresses].map(
    (address) => `ip address add ${address}/${address.includes(':') ? '128' : '32'} dev lo nodad`,
  ),
]

/** A server behind every address, on every port of the table. Redirects on request. */
export async function openEgressWorld(): Promise<EgressWorld> {
  let arrived: string[] = []
  const servers = await Promise.all(
    ports.map(async (port): Promise<Server> => {
      const server = createServer((request, response) => {
        const { pathname, searchParams } = new URL(request.url ?? '/', 'http://world')
        if (pathname === '/redirect') {
          response.writeHead(302, { location: searchParams.get('to') ?? '' }).end()
          return
        }
        arrived.push(request.socket.localAddress?.replace('::ffff:', '') ?? '')
        response.end('arrived')
      })
      await new Promise<void>((resolve) => server.listen(port, '::', resolve))
      return server
    }),
  )
  return {
    take() {
      const taken = arrived
      arrived = []
      return taken
    },
    async close() {
      for (const server of servers) {
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
    },
  }
}

const allowed = [...publicAddresses, ...listedHosts.map(({ host }) => host)]

/** How a way did with one destination: what it said, and whether anything arrived where nothing may. */
export async function tryWay(world: EgressWorld, way: WayOut, url: string): Promise<Reached | string> {
  world.take()
  const answered = await way.reach(url)
  const arrived = world.take()
  const forbidden = arrived.filter((address) => !allowed.includes(address))
  if (forbidden.length > 0) return `arrived at ${forbidden.join(', ')}`
  if (answered.end === 'answered') return answered.text === 'arrived' ? 'reached' : `answered ${answered.text}`
  if (arrived.length > 0) return `${answered.end}, but something arrived at ${arrived.join(', ')}`
  return answered.end === 'refused' ? 'refused' : `failed: ${answered.reason}`
}
