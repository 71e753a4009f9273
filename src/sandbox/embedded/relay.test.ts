import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect, createServer as createSocketServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { commandOf, textOf } from '../../../test/contract/sandbox-support.ts'
import { embeddedDrivers, hasBubblewrap } from '../../../test/support/embedded-sandbox.ts'
import { innerFiles } from './stage.ts'

const { open, closeAll } = embeddedDrivers()
afterEach(closeAll)

const body = 'x'.repeat(3_000_000)

/** Answers page requests and tunnel requests. */
async function startProxy(socketPath: string) {
  const asked: string[] = []
  const proxy = createServer((request, response) => {
    asked.push(`${request.method} ${request.headers.host}`)
    response.end(body)
  })
  proxy.on('connect', (request, socket) => {
    asked.push(`CONNECT ${request.url}`)
    socket.write('HTTP/1.1 200 OK\r\n\r\n')
    proxy.emit('connection', socket)
  })
  proxy.listen(socketPath)
  await once(proxy, 'listening')
  return { asked, close: () => proxy.close() }
}

const url = 'http://example.test/page'
const programs: readonly (readonly [string, ...string[]])[] = [
  ['curl', '-s', url],
  ['python3', '-c', `import urllib.request as r; print(end=r.urlopen("${url}").read().decode())`],
  ['node', '-e', `fetch("${url}").then((answer) => answer.text()).then((text) => process.stdout.write(text))`],
]

describe.skipIf(!hasBubblewrap)('access to the proxy (bubblewrap is needed)', () => {
  describe.each(['off', 'eager'] as const)('fork server %s', (forkServer) => {
    it.each(programs)('SEC-8 %s finds it without configuration', { timeout: 60_000 }, async (program, ...rest) => {
      const { driver, directory } = open({ forkServer })
      const socketPath = join(directory, 'proxy.sock')
      const proxy = await startProxy(socketPath)
      const outcome = await driver.run(
        commandOf([program, ...rest], { network: { kind: 'proxy', socketPath }, limits: { outputBytes: 5_000_000 } }),
      )
      proxy.close()
      expect(textOf(outcome.stderr)).toBe('')
      expect(textOf(outcome.stdout) === body).toBe(true)
      expect(proxy.asked).toContain('GET example.test')
    })
  })

  it('SEC-8 handles many concurrent connections, in both directions, to their ends', { timeout: 60_000 }, async () => {
    const { driver, directory } = open({ forkServer: 'eager' })
    const socketPath = join(directory, 'echo.sock')
    const echo = createSocketServer({ allowHalfOpen: true }, (socket) =>
      socket.on('error', () => undefined).pipe(socket),
    )
    echo.listen(socketPath)
    await once(echo, 'listening')
    const source = `
import os, socket, threading
address = ("127.0.0.1", int(os.environ["HTTP_PROXY"].rsplit(":", 1)[1]))
def talk(number):
    sent = bytes([number]) * 400_000
    with socket.create_connection(address) as connection:
        threading.Thread(target=lambda: (connection.sendall(sent), connection.shutdown(socket.SHUT_WR))).start()
        received = b""
        while chunk := connection.recv(65536): received += chunk
    results.append(received == sent)
results = []
talkers = [threading.Thread(target=talk, args=(number,)) for number in range(8)]
for talker in talkers: talker.start()
for talker in talkers: talker.join()
# One that is broken off in the middle disturbs no other.
socket.create_connection(address).close()
print(results)
`
    for (const argv of [['python3', '-c', source] as const, ['python3', '-B', '-c', source] as const]) {
      const outcome = await driver.run(commandOf(argv, { network: { kind: 'proxy', socketPath } }))
      expect(textOf(outcome.stderr)).toBe('')
      expect(textOf(outcome.stdout)).toBe(`[${Array(8).fill('True').join(', ')}]\n`)
    }
    echo.close()
  })

  it('SEC-8 also works with Node only', async () => {
    const { driver, directory } = open({ forkServer: 'off' })
    const socketPath = join(directory, 'proxy.sock')
    const proxy = await startProxy(socketPath)
    // Node's relay in front of the command, as on a machine without Python.
    const relay = [`${innerFiles}/relay.mjs`, '3129', '/run/familiar/proxy.sock']
    const script = 'curl -s -x http://127.0.0.1:3129 http://example.test/ | wc -c; echo to the result >&3; exit 7'
    const outcome = await driver.run(
      commandOf(['node', ...relay, 'sh', '-c', script], { network: { kind: 'proxy', socketPath } }),
    )
    proxy.close()
    expect(outcome.end).toEqual({ kind: 'exited', code: 7 })
    expect(textOf(outcome.stdout).trim()).toBe(String(body.length))
    expect(textOf(outcome.result)).toBe('to the result\n')
  })

  it('SEC-8 leaves no socket behind', async () => {
    const { driver, directory } = open({ forkServer: 'off' })
    const socketPath = join(directory, 'proxy.sock')
    const proxy = await startProxy(socketPath)
    const outcome = await driver.run(
      commandOf(['sh', '-c', 'readlink -f /run/familiar; cat /proc/self/mountinfo'], {
        network: { kind: 'proxy', socketPath },
      }),
    )
    const door = /^\S+ \S+ \S+ (\S+) \/run\/familiar\/proxy.sock /m.exec(textOf(outcome.stdout))?.[1] ?? ''
    expect(door).not.toBe('')
    proxy.close()
    const [reached] = await once(connect(door), 'error')
    expect(reached).toMatchObject({ code: 'ENOENT' })
  })
})
