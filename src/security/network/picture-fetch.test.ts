import { createServer, type Server } from 'node:http'
import { afterEach, describe, expect, it } from 'vitest'
import { createPictureFetch } from './picture-fetch.ts'

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

const servers: Server[] = []
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** Answers every path with its entry: a body, or an address to redirect to. */
async function serve(answers: Record<string, Buffer | string>) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    const answer = answers[request.url ?? '']
    if (typeof answer === 'string') response.writeHead(302, { location: answer }).end()
    else if (answer) response.writeHead(200, { 'content-type': 'text/html' }).end(answer)
    else response.writeHead(404).end()
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  return { asked, port, url: `http://127.0.0.1:${port}` }
}

async function fetched(request: { addresses: string[]; hosts: string[]; ports: number[] }) {
  const refused: string[] = []
  const fetchPictures = createPictureFetch({
    listedHosts: () => request.ports.map((port) => ({ host: '127.0.0.1', port })),
  })
  const found = await fetchPictures({
    ...request,
    onRefused: (host) => refused.push(host),
    signal: new AbortController().signal,
  })
  return { found, refused }
}

describe('createPictureFetch', () => {
  it('CARD-4 an image of a declared host becomes data, typed by its bytes', async () => {
    const { url, port } = await serve({ '/a.png': png, '/page': Buffer.from('<svg onload=x>'), '/on': '/a.png' })
    const { found, refused } = await fetched({
      addresses: [`${url}/a.png`, `${url}/page`, `${url}/on`, `${url}/gone`, 'no address'],
      hosts: [`127.0.0.1:${port}`],
      ports: [port],
    })
    const data = `data:image/png;base64,${png.toString('base64')}`
    expect(found).toEqual(
      new Map([
        [`${url}/a.png`, data],
        [`${url}/on`, data],
      ]),
    )
    expect(refused).toEqual([])
  })

  it('CARD-4 no other host is contacted, not even by a redirect from a declared one', async () => {
    const other = await serve({ '/secret.png': png })
    const declared = await serve({ '/on.png': `${other.url}/secret.png` })
    const { found, refused } = await fetched({
      addresses: [`${other.url}/secret.png`, `${declared.url}/on.png`, 'https://elsewhere.example/x.png'],
      hosts: [`127.0.0.1:${declared.port}`],
      ports: [declared.port, other.port],
    })
    expect(found.size).toBe(0)
    expect(other.asked).toEqual([])
    expect(refused.sort()).toEqual(['127.0.0.1', '127.0.0.1', 'elsewhere.example'])
  })

  it('CARD-4 a host of this network must also be listed by the owner', async () => {
    const { url, port, asked } = await serve({ '/a.png': png })
    const { found } = await fetched({ addresses: [`${url}/a.png`], hosts: [`127.0.0.1:${port}`], ports: [] })
    expect(found.size).toBe(0)
    expect(asked).toEqual([])
  })

  it('CARD-4 images have limits: in size, in total, and in number', async () => {
    const large = Buffer.concat([png, Buffer.alloc(290 * 1024)])
    const tooLarge = Buffer.concat([png, Buffer.alloc(310 * 1024)])
    const small = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`/${at}.png`, png]))
    const { url, port, asked } = await serve({ '/a': large, '/b': large, '/c': large, '/d': tooLarge, ...small })
    const all = { hosts: [`127.0.0.1:${port}`], ports: [port] }
    const few = await fetched({ ...all, addresses: ['a', 'b', 'c', 'd', '1.png'].map((name) => `${url}/${name}`) })
    expect([...few.found.keys()]).toEqual([`${url}/a`, `${url}/b`, `${url}/1.png`])
    asked.length = 0
    await fetched({ ...all, addresses: Object.keys(small).map((name) => `${url}${name}`) })
    expect(asked).toHaveLength(12)
  })
})
