import { createSocket, type Socket } from 'node:dgram'
import { createServer, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { ResolveHost } from '../../src/security/network/destinations.ts'
import { type BrowserBench, hasChromium, openBrowserBench } from '../support/browser-bench.ts'
import { type LocalSite, openLocalSite } from '../support/local-site.ts'

/**
 * Everything that a page can do to reach an address; each ends with its outcome. `to` has the target and a separate
 * path.
 */
const probes: Record<string, string> = {
  fetch: `await fetch(to + 'fetch', { mode: 'no-cors' })`,
  xhr: `await new Promise((end) => { const x = new XMLHttpRequest(); x.onloadend = end; x.open('GET', to + 'xhr'); x.send() })`,
  image: `await new Promise((end) => { const i = new Image(); i.onload = i.onerror = end; i.src = to + 'image' })`,
  script: `await element('script', { src: to + 'script' })`,
  stylesheet: `await element('link', { rel: 'stylesheet', href: to + 'stylesheet' })`,
  frame: `await element('iframe', { src: to + 'frame' })`,
  beacon: `navigator.sendBeacon(to + 'beacon', 'x')`,
  events: `await new Promise((end) => { const e = new EventSource(to + 'events'); e.onerror = e.onopen = () => { e.close(); end() } })`,
  socket: `await new Promise((end) => { const s = new WebSocket(to.replace('http', 'ws') + 'socket'); s.onopen = s.onclose = end })`,
  worker: `await new Promise((end) => { const w = new Worker(URL.createObjectURL(new Blob(["fetch('" + to + "worker', { mode: 'no-cors' }).catch(() => 0).then(() => postMessage(1))"]))); w.onmessage = end })`,
  form: `await new Promise((end) => { const f = document.createElement('iframe'); f.name = 'f'; f.onload = end; document.body.append(f); const form = document.createElement('form'); form.target = 'f'; form.method = 'post'; form.action = to + 'form'; document.body.append(form); form.submit() })`,
  redirect: `await fetch('/redirect?to=' + encodeURIComponent(to + 'redirect'), { mode: 'no-cors' })`,
  'redirected frame': `await element('iframe', { src: '/redirect?to=' + encodeURIComponent(to + 'redirected%20frame') })`,
}

const page = (script: string) => `<!doctype html><title>probes</title><body><script type="module">
const element = (name, properties) => new Promise((end) => {
  const made = Object.assign(document.createElement(name), properties)
  made.onload = made.onerror = end
  document.body.append(made)
})
const later = (time) => new Promise((end) => setTimeout(end, time))
${script}
</script>`

function probePage(target: string): string {
  const tried = Object.entries(probes).map(([name, code]) => `[${JSON.stringify(name)}, async (to) => { ${code} }]`)
  return page(`
const done = await Promise.all([${tried.join(',\n')}].map(async ([name, probe]) => {
  await Promise.race([later(3000), probe(${JSON.stringify(target)}).catch(() => 0)])
  return name
}))
await later(200)
document.body.textContent = 'Tried: ' + done.join(', ')`)
}

const webrtcPage = (port: number, tcpPort: number) =>
  page(`
const connection = new RTCPeerConnection({ iceServers: [
  { urls: 'stun:127.0.0.1:${port}' },
  { urls: 'turn:127.0.0.1:${port}?transport=udp', username: 'a', credential: 'b' },
  { urls: 'turn:127.0.0.1:${tcpPort}?transport=tcp', username: 'a', credential: 'b' },
] })
connection.createDataChannel('x')
await connection.setLocalDescription(await connection.createOffer())
const transport = new WebTransport('https://127.0.0.1:${port}/')
await Promise.race([transport.ready.catch(() => 0), later(1500)])
await later(1500)
document.body.textContent = 'Tried: ' + connection.iceGatheringState`)

const resolve: ResolveHost = async (hostname) => {
  asked.push(hostname)
  const address = { 'private.example': '127.0.0.1', 'mapped.example': '::ffff:127.0.0.1', 'six.example': '::1' }[
    hostname
  ]
  if (address) return [{ address, family: address.includes(':') ? 6 : 4 }]
  if (hostname === 'both.example') {
    return [
      { address: '93.184.216.34', family: 4 },
      { address: '127.0.0.1', family: 4 },
    ]
  }
  throw Object.assign(new Error('unknown'), { code: 'ENOTFOUND' })
}

const asked: string[] = []
let site: LocalSite
let inner: LocalSite
let datagrams: Socket
let received: number
let turn: Server
let turned: number
let bench: BrowserBench

describe.skipIf(!hasChromium)('the way out of the browser (needs chromium)', () => {
  beforeAll(async () => {
    inner = await openLocalSite((_request, response) =>
      response.setHeader('access-control-allow-origin', '*').end('INNER'),
    )
    received = 0
    datagrams = createSocket('udp4', () => {}).on('message', () => {
      received += 1
    })
    await new Promise<void>((ready) => datagrams.bind(0, '127.0.0.1', ready))
    turned = 0
    turn = createServer((socket) => {
      turned += 1
      socket.destroy()
    })
    await new Promise<void>((ready) => turn.listen(0, '127.0.0.1', ready))
    site = await openLocalSite(({ url }, response) => {
      const { pathname, searchParams } = new URL(url, 'http://site')
      response.setHeader('access-control-allow-origin', '*')
      if (pathname === '/redirect') {
        response.writeHead(302, { location: searchParams.get('to') ?? '' }).end()
      } else if (pathname === '/probe') {
        response.setHeader('content-type', 'text/html').end(probePage(searchParams.get('target') ?? ''))
      } else if (pathname === '/webrtc') {
        const port = (turn.address() as { port: number }).port
        response.setHeader('content-type', 'text/html').end(webrtcPage(datagrams.address().port, port))
      } else response.end('site')
    })
    bench = await openBrowserBench({ allowedHosts: [{ host: '127.0.0.1', port: site.port }], resolve })
  }, 60_000)

  afterAll(async () => {
    await bench?.end()
    await Promise.all([site?.close(), inner?.close()])
    datagrams?.close()
    turn?.close()
  })

  async function tryAll(target: string): Promise<string[]> {
    const opened = await bench.run({ action: 'open', url: `${site.origin}/probe?target=${encodeURIComponent(target)}` })
    expect(opened.isError).toBe(false)
    for (;;) {
      const { text } = await bench.run({ action: 'read' })
      const tried = /Tried: (.*)/.exec(text)?.[1]
      if (tried !== undefined) return tried.split(', ')
    }
  }

  it('SEC-8 every probe reaches a listed host: the probes work', async () => {
    expect(await tryAll(`${site.origin}/hit/`)).toEqual(Object.keys(probes))
    const hits = new Set(site.requests.flatMap(({ url }) => /^\/hit\/(.*)$/.exec(decodeURIComponent(url))?.[1] ?? []))
    expect([...hits].sort()).toEqual(Object.keys(probes).sort())
  }, 60_000)

  it.each([
    ['the loopback address', (port: number) => `http://127.0.0.1:${port}/`],
    ['its name', (port: number) => `http://localhost:${port}/`],
    ['the address of this machine that means all', (port: number) => `http://0.0.0.0:${port}/`],
    ['the address as one number', (port: number) => `http://2130706433:${port}/`],
    ['the address in version 6', (port: number) => `http://[::1]:${port}/`],
    ['the address within version 6', (port: number) => `http://[::ffff:127.0.0.1]:${port}/`],
    ['a name that leads there', (port: number) => `http://private.example:${port}/`],
    ['a name that leads there as well', (port: number) => `http://both.example:${port}/`],
    ['a name that leads there within version 6', (port: number) => `http://mapped.example:${port}/`],
    ['a name that leads there in version 6', (port: number) => `http://six.example:${port}/`],
    ['it, encrypted', (port: number) => `https://127.0.0.1:${port}/`],
  ])(
    'SEC-8 no page reaches %s, whatever it tries',
    async (_name, target) => {
      expect(await tryAll(target(inner.port))).toEqual(Object.keys(probes))
      expect(inner.connections()).toBe(0)
    },
    90_000,
  )

  it('SEC-8 no page speaks to this machine by UDP or by a relay', async () => {
    await bench.run({ action: 'open', url: `${site.origin}/webrtc` })
    for (;;) {
      const { text } = await bench.run({ action: 'read' })
      if (text.includes('Tried: ')) break
    }
    expect(received).toBe(0)
    expect(turned).toBe(0)
  }, 60_000)

  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'https://[fd00:ec2::254]/',
    'http://10.0.0.1:8080/',
    'http://user@10.0.0.1/',
  ])('SEC-8 the model learns that %s is blocked', async (url) => {
    const outcome = await bench.run({ action: 'open', url })
    expect(outcome).toMatchObject({ isError: true })
    expect(outcome.text).toMatch(/not a public address|user name or password/)
  })

  it('SEC-8 the proxy is asked for the names of pages, and for none of the browser’s own', () => {
    const ofPages = ['private.example', 'both.example', 'mapped.example', 'six.example']
    expect(asked).toEqual(expect.arrayContaining(ofPages))
    // Requests of the browser to its makers have no proxy password, or lead nowhere from the start.
    expect(asked.filter((name) => ![...ofPages, 'localhost'].includes(name))).toEqual([])
  })

  it('SEC-8 serves no one without its password', async () => {
    const { openLoopbackProxy } = await import('../../src/security/network/sandbox-proxy.ts')
    const proxy = await openLoopbackProxy({ allowedHosts: [{ host: '127.0.0.1', port: inner.port }] })
    const ask = (headers: Record<string, string>) =>
      new Promise<number | undefined>((resolve, reject) => {
        import('node:http').then(({ request }) => {
          const { hostname, port } = new URL(proxy.server)
          const sent = request({ hostname, port, path: `${inner.origin}/`, headers }, (answer) => {
            answer.resume()
            resolve(answer.statusCode)
          })
          sent.on('error', reject).end()
        }, reject)
      })
    const credential = (text: string) => ({ 'proxy-authorization': `Basic ${Buffer.from(text).toString('base64')}` })
    expect(await ask({})).toBe(407)
    expect(await ask(credential('familiar:wrong'))).toBe(407)
    expect(await ask(credential(`${proxy.username}:${proxy.password}`))).toBe(200)
    await proxy.close()
  })
})
