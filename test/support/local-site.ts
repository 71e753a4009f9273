import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface LocalRequest {
  method: string
  url: string
  headers: IncomingMessage['headers']
  body: string
}

/** A server of this machine that writes down what it is asked. */
export interface LocalSite {
  origin: string
  port: number
  requests: readonly LocalRequest[]
  connections(): number
  close(): Promise<void>
}

export type Answer = (request: LocalRequest, response: ServerResponse) => void

export async function openLocalSite(answer: Answer, host = '127.0.0.1'): Promise<LocalSite> {
  const requests: LocalRequest[] = []
  let connections = 0
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming
      const request = { method, url, headers, body: Buffer.concat(chunks).toString() }
      requests.push(request)
      answer(request, response)
    })
  })
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return { origin: `http://${host}:${port}`, port, requests, connections: () => connections, close: () => end(server) }
}

function end(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}
