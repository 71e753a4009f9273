import { spawnSync } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasChromium, openBrowserBench } from '../support/browser-bench.ts'
import { openLocalSite } from '../support/local-site.ts'

/** A loopback address of our own, which records name lookups. */
const nameServer = '127.0.0.77'

const page = `<title>names</title><link rel="dns-prefetch" href="//prefetch.test"><link rel="preconnect" href="//connect.test">
<img src="http://image.test/"><script>
fetch('http://fetch.test/').catch(() => 0)
new WebSocket('ws://socket.test/')
const connection = new RTCPeerConnection({ iceServers: [{ urls: 'stun:secret-in-a-name.test:3478' }] })
connection.createDataChannel('x')
connection.createOffer().then((offer) => connection.setLocalDescription(offer))
setTimeout(() => document.body.append('Tried'), 4000)
</script>`

const canNameServer = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0

describe.skipIf(!hasChromium || !canNameServer)('names (needs chromium and root, for a name server of its own)', () => {
  const queries: string[] = []
  let folder: string
  let server: Socket

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'familiar-names-'))
    server = createSocket('udp4').on('message', (query) => void queries.push(query.subarray(12).toString('latin1')))
    await new Promise<void>((resolve) => server.bind(53, nameServer, resolve))
    await writeFile(join(folder, 'resolv'), `nameserver ${nameServer}\noptions timeout:1 attempts:1\n`)
    await writeFile(join(folder, 'switch'), 'hosts: files dns\n')
    // Whatever it is given runs with that name server and no other.
    const within = `mount --bind ${folder}/resolv /etc/resolv.conf && mount --bind ${folder}/switch /etc/nsswitch.conf && exec "$@"`
    await writeFile(join(folder, 'within'), `#!/bin/sh\nexec unshare --mount sh -c '${within}' sh "$@"\n`)
    await writeFile(join(folder, 'chromium'), `#!/bin/sh\nexec ${folder}/within /usr/bin/chromium "$@"\n`)
    await Promise.all(['within', 'chromium'].map((name) => chmod(join(folder, name), 0o755)))
  })
  afterAll(async () => {
    server?.close()
    await rm(folder, { recursive: true })
  })

  it('SEC-8 a page makes the browser look up no name past the proxy', async () => {
    const heard = new Promise((resolve) => server.once('message', resolve))
    spawnSync(join(folder, 'within'), ['getent', 'hosts', 'control.test'], { timeout: 10_000 })
    await heard
    expect(queries.some((query) => query.includes('control'))).toBe(true)

    const site = await openLocalSite((_request, response) => response.setHeader('content-type', 'text/html').end(page))
    const asked: string[] = []
    const resolve = async (name: string) => {
      asked.push(name)
      throw Object.assign(new Error('unknown'), { code: 'ENOTFOUND' })
    }
    const bench = await openBrowserBench(
      { allowedHosts: [{ host: '127.0.0.1', port: site.port }], resolve },
      { settings: () => ({ executable: join(folder, 'chromium') }) },
    )
    await bench.run({ action: 'open', url: site.origin })
    while (!(await bench.run({ action: 'read' })).text.includes('Tried')) await new Promise(setImmediate)
    // The page did ask: what may be asked for went to the proxy.
    expect(asked).toEqual(expect.arrayContaining(['fetch.test', 'image.test', 'socket.test']))
    // The control asks more than once, and may be heard late.
    expect(queries.filter((query) => !query.includes('control'))).toEqual([])
    await bench.end()
    await site.close()
  }, 60_000)
})
