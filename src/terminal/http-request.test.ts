import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { readResponseText, sendRequest } from './connect.ts'

const chunkBytes = 64 * 1024
const chunks = 64
const warnings: Error[] = []
const note = (warning: Error) => void warnings.push(warning)
let server: Server

beforeEach(() => {
  warnings.length = 0
  process.on('warning', note)
})
afterEach(async () => {
  process.off('warning', note)
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

async function listen(answer: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<string> {
  server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

async function* body(): AsyncGenerator<Uint8Array> {
  for (let count = 0; count < chunks; count += 1) yield new Uint8Array(chunkBytes)
}

it('sends a large body to a slow reader without piling up listeners', async () => {
  const url = await listen(async (request, response) => {
    let bytes = 0
    for await (const chunk of request) bytes += chunk.length
    response.end(String(bytes))
  })
  const response = await sendRequest({ url, method: 'POST', headers: {}, body: body() })
  expect(await readResponseText(response, url)).toBe(String(chunkBytes * chunks))
  await nextTurn()
  expect(warnings).toEqual([])
})

it('stops sending where the server answers and closes the connection before it has read the body', async () => {
  const url = await listen((request, response) => {
    response.writeHead(413, { connection: 'close' }).end('too large')
    response.once('finish', () => request.socket.destroy())
  })
  const sending = sendRequest({ url, method: 'POST', headers: {}, body: body() })
  const ended = await sending.then(
    ({ statusCode }) => statusCode,
    (error) => error.code,
  )
  expect([413, 'unreachable']).toContain(ended)
})
